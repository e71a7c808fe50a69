/** What a newcomer can do, in the place of the strips as long as nothing has moved. */
import { el } from "./dom";
import type { Data } from "./model";

export function guide(data: Data): HTMLElement {
  const touch = matchMedia("(pointer: coarse)").matches;
  const lines = [
    ["Drag a link", "its joint turns."],
    ...(data.tips.length ? [["Drag the pink ball", "the robot follows with its tip."]] : []),
    ["Drag elsewhere", `look around; ${touch ? "two fingers zoom" : "the wheel zooms once the scene was clicked"}.`],
    ...(data.isMassless
      ? []
      : [
          ["Play", "it moves as gravity and motors make it; pull the pink ball meanwhile."],
          ["Click a number", "its equation opens below."],
        ]),
  ];
  return el("dl", { class: "guide" }, ...lines.flatMap(([what, then]) => [el("dt", {}, what), el("dd", {}, then)]));
}
