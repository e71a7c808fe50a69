"""Robots that come with qddot, each in its page: nothing is complained about, and everything can be looked at."""

from __future__ import annotations

import pytest

import qddot
from qddot.catalog import BUNDLED

LOOKED = """async () => {
  const app = explorerApp, wrong = [];
  const frame = (n = app.frames) => new Promise((go) => {
    app.schedule();
    const wait = () => (app.frames > n ? go() : setTimeout(wait, 5));
    wait();
  });
  let farthest = 0; // where anything is drawn, on a screen from -1 to 1
  for (const mesh of app.view.figure.drawn) {
    const { array } = mesh.geometry.attributes.position, point = app.view.tip.position.clone();
    mesh.updateWorldMatrix(true, false);
    for (let k = 0; k < array.length; k += 3) {
      const { x, y } = point.set(array[k], array[k + 1], array[k + 2]).applyMatrix4(mesh.matrixWorld).project(app.view.camera);
      farthest = Math.max(farthest, Math.abs(x), Math.abs(y));
    }
  }
  if (!(0.1 < farthest && farthest < 1)) wrong.push(["in view", farthest]);
  for (const { name, quantities } of app.lens.data.variants)
    for (const quantity of [...Object.keys(quantities), "inverse_dynamics"])
      for (const row of new Set([0, app.data.nv - 1])) {
        app.state.variant = name;
        app.choose({ quantity, row, column: 0 });
        await frame();
        const { lens } = app.state, total = Number(document.querySelector("#formula").dataset.total),
          now = app.lens.fallback(lens.quantity, lens.row, lens.column);
        const isOff = Math.abs(total - now) > 1e-9 * Math.max(1, Math.abs(now)); // now is NaN where only the lens knows
        if (isOff || !Number.isFinite(total)) wrong.push([name, quantity, row, total, now]);
      }
  for (const ellipsoid of ["velocity", "force", "mass"]) {
    Object.assign(app.state.view, { ellipsoid, frames: true, centres: true, path: true, boxes: true });
    await frame();
  }
  for (let k = 0; k < 50 && !app.data.isMassless; k++) if (!app.simulation.advance()) wrong.push(["stopped", k]);
  await frame();
  return { wrong, wide: document.documentElement.scrollWidth - innerWidth };
}"""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(x.stem for x in BUNDLED.glob("*.toml")))
def test_every_robot_opens_in_its_page(opened, name):
    found = opened(qddot.load(name)).evaluate(LOOKED)
    assert found == {"wrong": [], "wide": 0}
