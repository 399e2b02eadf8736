// SPDX-License-Identifier: MIT
// The server's service for its shell, python/tracker/server. Requests are handled without the GIL.
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "register.h"
#include "released_gil.h"
#include "server/service.h"
#include "value_convert.h"

namespace tracker::python {
namespace {

namespace py = pybind11;

using internal::Request;
using internal::Response;
using internal::Service;

using Pairs = std::vector<std::pair<std::string, std::string>>;

// `headers`: those that the service reads, by their lower-case names.
Request request_of(const std::string& method, const std::string& path, const Pairs& query,
                   const std::map<std::string, std::string>& headers, const std::string& client,
                   const std::string& own_origin, bool over_tls) {
  const auto header = [&headers](const char* name) {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  };
  Request out;
  out.method = method;
  out.path = path;
  out.query = query;
  out.authorization = header("authorization");
  out.cookie = header("cookie");
  out.origin = header("origin");
  out.marked = header("x-tracker") == "1";
  out.client = client;
  out.own_origin = own_origin;
  out.over_tls = over_tls;
  return out;
}

// (status, content type, headers, body, file)
py::tuple to_python(const Response& response) {
  return py::make_tuple(response.status, response.content_type, response.headers, py::bytes(response.body),
                        response.file);
}

py::object refusal(Service& service, const std::string& method, const std::string& path, const Pairs& query,
                   const std::map<std::string, std::string>& headers, const std::string& client,
                   const std::string& own_origin, bool over_tls) {
  const Request request = request_of(method, path, query, headers, client, own_origin, over_tls);
  const std::unique_ptr<Response> response = [&] {
    const ReleasedGil without_gil;
    return service.refusal(request);
  }();
  return response == nullptr ? py::object(py::none()) : to_python(*response);
}

py::tuple handle(Service& service, const std::string& method, const std::string& path, const Pairs& query,
                 const std::map<std::string, std::string>& headers, const std::string& client,
                 const std::string& own_origin, bool over_tls, const py::bytes& body) {
  Request request = request_of(method, path, query, headers, client, own_origin, over_tls);
  request.body = body;
  const Response response = [&] {
    const ReleasedGil without_gil;
    return service.handle(request);
  }();
  return to_python(response);
}

std::unique_ptr<Service> open_service(const std::string& path, bool takes_uploads) {
  auto service = [&]() -> internal::Result<std::unique_ptr<Service>> {
    const ReleasedGil without_gil;
    auto store = internal::Store::open(path);
    if (!store.ok()) return store.status();
    return Service::open(*store, takes_uploads);
  }();
  return take(std::move(service));
}

// (method, pattern, scope, largest body in bytes)
py::list routes() {
  py::list out;
  for (const internal::RouteInfo& route : Service::routes()) {
    const auto names = internal::scope_names(route.scope);
    out.append(py::make_tuple(route.method, route.pattern, names.empty() ? "" : names.front(), route.body_max));
  }
  return out;
}

}  // namespace

void register_server(py::module_& module) {
  py::class_<Service>(module, "Service")
      .def(py::init(&open_service), py::arg("store"), py::arg("takes_uploads"))
      .def_static("routes", &routes)
      .def("refusal", &refusal, py::arg("method"), py::arg("path"), py::arg("query"), py::arg("headers"),
           py::arg("client"), py::arg("own_origin"), py::arg("over_tls"))
      .def("handle", &handle, py::arg("method"), py::arg("path"), py::arg("query"), py::arg("headers"),
           py::arg("client"), py::arg("own_origin"), py::arg("over_tls"), py::arg("body"))
      .def("close",
           [](Service& service) {
             const ReleasedGil without_gil;
             service.close();
           })
      .def("create_code", [](Service& service) { return take(service.access().create_code(internal::kScopeRead)); })
      .def("set_address", [](Service& service, const std::string& url) { check(service.access().set_address(url)); });
}

}  // namespace tracker::python
