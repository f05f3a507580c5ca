/**
 * A share in percent, as the server writes it (annotations/agreement/templatetags/coefficients.py): only a share of 1 gives 100%, and only a share
 * of 0 gives 0%.
 * @param {number} share
 */
export function percent(share) {
  if (share === 0 || share === 1 || (share >= 0.005 && share < 0.985)) return `${(100 * share).toFixed(0)}%`;
  return `${Math.min(Math.max(100 * share, 0.1), 99.99).toFixed(share < 0.9985 ? 1 : 2)}%`;
}
