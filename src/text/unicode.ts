/**
 * Code points, inclusive, that a terminal obeys or that cannot be seen. Outside these everything that is not a
 * surrogate may be printed, unassigned characters included: a newer Unicode is no reason to lose text.
 */
const UNPRINTABLE: readonly (readonly [number, number])[] = [
  [0x00, 0x1f], // C0
  [0x7f, 0x9f], // DEL, C1
  [0xad, 0xad], // soft hyphen
  [0x34f, 0x34f], // combining grapheme joiner
  [0x61c, 0x61c], // Arabic letter mark
  [0x115f, 0x1160], // Hangul fillers
  [0x17b4, 0x17b5], // Khmer inherent vowels
  [0x180b, 0x180f], // Mongolian selectors and vowel separator
  [0x200b, 0x200f], // zero width space, joiners, direction marks
  [0x2028, 0x202e], // line and paragraph separators, direction overrides
  [0x2060, 0x206f], // word joiner, invisible operators, direction isolates
  [0x3164, 0x3164], // Hangul filler
  [0xd800, 0xdfff], // surrogates
  [0xfe00, 0xfe0f], // variation selectors
  [0xfeff, 0xfeff], // byte order mark
  [0xffa0, 0xffa0], // Hangul filler
  [0xfff0, 0xfffb], // annotations
  [0xfffe, 0xffff], // no characters
  [0x1bca0, 0x1bca3], // shorthand format controls
  [0x1d173, 0x1d17a], // musical format controls
  [0xe0000, 0xe0fff], // tags, variation selectors supplement
];

export function isPrintable(code: number): boolean {
  if (code < 0x7f) return code >= 0x20;
  let low = 0;
  let high = UNPRINTABLE.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const range = UNPRINTABLE[middle];
    if (range === undefined) break;
    if (code < range[0]) high = middle - 1;
    else if (code > range[1]) low = middle + 1;
    else return false;
  }
  return true;
}

const ZERO_WIDTH_NON_JOINER = 0x200c;
const ZERO_WIDTH_JOINER = 0x200d;

/**
 * Characters without width that change how the one before them looks: kept after it, once. A joiner glues emoji and
 * shapes letters of Arabic and Indic scripts; a variation selector picks the emoji or the text form.
 */
export function isJoinable(code: number, before: number): boolean {
  if (code === ZERO_WIDTH_JOINER) return isPictographic(before) || before === 0xfe0f || isShapedLetter(before);
  if (code === ZERO_WIDTH_NON_JOINER) return isShapedLetter(before);
  if (code < 0xfe00 || code > 0xfe0f) return false;
  return before > 0x20 && before !== ZERO_WIDTH_JOINER && before !== ZERO_WIDTH_NON_JOINER && isPrintable(before);
}

function isPictographic(code: number): boolean {
  return /[\p{Extended_Pictographic}\p{Emoji_Modifier}]/u.test(String.fromCodePoint(code));
}

function isShapedLetter(code: number): boolean {
  return (code >= 0x600 && code <= 0xdff) || (code >= 0x1000 && code <= 0x109f) || (code >= 0x1780 && code <= 0x18af);
}
