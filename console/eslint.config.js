// SPDX-License-Identifier: MIT
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const UNSAFE_HTML = "Strings from runs are text: no HTML is set from a string.";

export default tseslint.config(
  { ignores: ["node_modules", "tools"] },
  ...tseslint.configs.strictTypeChecked,
  { languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  {
    plugins: { "react-hooks": reactHooks },
    rules: {
      "react-hooks/rules-of-hooks": "error",
      "react-hooks/exhaustive-deps": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // The router's redirect and notFound are thrown, as its documentation asks.
      "@typescript-eslint/only-throw-error": "off",
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: UNSAFE_HTML },
        { selector: "Property[key.name='dangerouslySetInnerHTML']", message: UNSAFE_HTML },
        { selector: "Property[key.value='dangerouslySetInnerHTML']", message: UNSAFE_HTML },
        {
          selector: "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML|srcdoc)$/]",
          message: UNSAFE_HTML,
        },
        {
          selector: "CallExpression[callee.object.name='document'][callee.property.name='write']",
          message: UNSAFE_HTML,
        },
      ],
    },
  },
  { files: ["eslint.config.js"], ...tseslint.configs.disableTypeChecked },
);
