# SPDX-License-Identifier: MIT
from tracker.compat import em  # was: from t9k import em

run = em.create_run(name="mnist_torch", hparams={"epochs": 2, "learning_rate": 0.001}, folder="em-examples")
for epoch in range(1, run.hparams.epochs + 1):
    for step in range(1, 101):
        global_step = (epoch - 1) * 100 + step
        run.log(type="train", metrics={"loss": 1 / global_step}, step=global_step, epoch=epoch)
    run.log(type="val", metrics={"loss": 0.5, "accuracy": 0.9}, step=global_step, epoch=epoch)
with open("model.pt", "wb") as file:
    file.write(b"weights")
model = em.create_artifact(name="mnist_model")
model.add_file("model.pt")
run.mark_output(model)
run.finish()
em.login()
run.upload(folder="em-examples", make_folder=True)
