/** Colours of joints, from dark to light so that their order shows without colour too: viridis, as in the plots of Python. */

const VIRIDIS = [0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c, 0x28ae80, 0x5ec962, 0xaddc30, 0xfde725];
/** From where to where of the scale they are taken: on paper the lightest, and on black the darkest, would not be seen. */
const LIGHT = [0.05, 0.85],
  DARK = [0.35, 1];

/** At a share of the scale, as three numbers up to 255. */
function at(share: number): number[] {
  const place = share * (VIRIDIS.length - 1),
    k = Math.min(Math.floor(place), VIRIDIS.length - 2),
    part = place - k;
  const mixed = (shift: number) => {
    const [a, b] = [VIRIDIS[k], VIRIDIS[k + 1]].map((x) => (x >> shift) & 255);
    return Math.round(a + (b - a) * part);
  };
  return [mixed(16), mixed(8), mixed(0)];
}

/** One for each of so many joints. */
export function jointColors(count: number): string[] {
  const [low, high] = matchMedia("(prefers-color-scheme: dark)").matches ? DARK : LIGHT;
  return Array.from({ length: count }, (_, k) => `rgb(${at(low + (count > 1 ? (k / (count - 1)) * (high - low) : 0)).join(", ")})`);
}
