/** Small dense linear algebra, row-major. */

export type Numbers = Float64Array;
export const zeros = (n: number): Numbers => new Float64Array(n);

/** Factors a symmetric positive definite matrix (n x n) in place, M = L L^T in the lower triangle; false where it is not one. */
export function cholesky(a: Numbers, n: number): boolean {
  for (let j = 0; j < n; j++) {
    let d = a[j * n + j];
    for (let k = 0; k < j; k++) d -= a[j * n + k] ** 2;
    if (!(d > 0)) return false;
    const root = Math.sqrt(d);
    a[j * n + j] = root;
    for (let i = j + 1; i < n; i++) {
      let x = a[i * n + j];
      for (let k = 0; k < j; k++) x -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = x / root;
    }
  }
  return true;
}

/** Solves L L^T x = b in place. */
export function solve(l: Numbers, n: number, b: Numbers): void {
  for (let i = 0; i < n; i++) {
    let x = b[i];
    for (let k = 0; k < i; k++) x -= l[i * n + k] * b[k];
    b[i] = x / l[i * n + i];
  }
  for (let i = n - 1; i >= 0; i--) {
    let x = b[i];
    for (let k = i + 1; k < n; k++) x -= l[k * n + i] * b[k];
    b[i] = x / l[i * n + i];
  }
}

export interface Eigen {
  /** Ascending. */
  values: number[];
  /** One vector a value. */
  vectors: number[][];
}

/** Eigenvalues and vectors of a symmetric matrix (Jacobi). */
export function eigen(given: ArrayLike<number>, n: number): Eigen {
  const a = Float64Array.from(given);
  const v = zeros(n * n);
  for (let i = 0; i < n; i++) v[i * n + i] = 1;
  for (let sweep = 0; sweep < 30; sweep++) {
    let off = 0,
      all = 0;
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) ((all += a[i * n + j] ** 2), i !== j && (off += a[i * n + j] ** 2));
    if (off <= 1e-30 * all) break;
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (a[p * n + q] === 0) continue;
        const theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1),
          s = t * c;
        for (let k = 0; k < n; k++) {
          const x = a[k * n + p],
            y = a[k * n + q];
          a[k * n + p] = c * x - s * y;
          a[k * n + q] = s * x + c * y;
        }
        for (let k = 0; k < n; k++) {
          const x = a[p * n + k],
            y = a[q * n + k];
          a[p * n + k] = c * x - s * y;
          a[q * n + k] = s * x + c * y;
          const w = v[k * n + p],
            z = v[k * n + q];
          v[k * n + p] = c * w - s * z;
          v[k * n + q] = s * w + c * z;
        }
      }
    }
  }
  const order = [...Array(n).keys()].sort((i, j) => a[i * n + i] - a[j * n + j]);
  return { values: order.map((i) => a[i * n + i]), vectors: order.map((i) => Array.from({ length: n }, (_, k) => v[k * n + i])) };
}

/** Rows of a (m x n) times the transpose of rows of b (k x n): m x k. */
export function timesTransposed(a: ArrayLike<number>, b: ArrayLike<number>, m: number, k: number, n: number): Numbers {
  const out = zeros(m * k);
  for (let i = 0; i < m; i++) for (let j = 0; j < k; j++) for (let l = 0; l < n; l++) out[i * k + j] += a[i * n + l] * b[j * n + l];
  return out;
}
