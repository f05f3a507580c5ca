// Write a zip without compression, so that a folder of many thousand notes is uploaded as one file.
// Layout: PKWARE APPNOTE 6.3.10, sections 4.3.7 (local header), 4.3.12 (directory), 4.3.16 (end of directory). No zip64.

export const MOST_ENTRIES = 65535;
const UTF8_NAMES = 0x0800;
const MADE_1980 = 0x0021; // 1 January 1980. The real date would reveal something about the file.

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

export const crc32 = (bytes) => {
  let c = 0xffffffff;
  for (const byte of bytes) c = TABLE[(c ^ byte) & 0xff] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
};

// Pack [value, size in bytes] pairs as little-endian numbers.
const pack = (fields) => {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [, size]) => sum + size, 0)));
  let at = 0;
  for (const [value, size] of fields) {
    if (size === 4) view.setUint32(at, value, true);
    else view.setUint16(at, value, true);
    at += size;
  }
  return view.buffer;
};

const common = (name, crc, size) => [
  [20, 2], [UTF8_NAMES, 2], [0, 2], [0, 2], [MADE_1980, 2], [crc, 4], [size, 4], [size, 4], [name.length, 2], [0, 2],
];

/**
 * Pack files into one zip Blob.
 * @param {Array<{path: string, file: Blob}>} files
 * @param {(done: number, total: number) => void} [progress]  called after each file
 */
export const zip = async (files, progress = () => {}) => {
  const parts = [];
  const directory = [];
  let at = 0;
  let done = 0;
  for (const { path, file } of files) {
    const name = new TextEncoder().encode(path);
    const bytes = new Uint8Array(await file.arrayBuffer());
    const fields = common(name, crc32(bytes), bytes.length);
    const header = pack([[0x04034b50, 4], ...fields]);
    directory.push(pack([[0x02014b50, 4], [20, 2], ...fields, [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]]), name);
    parts.push(header, name, file);
    at += header.byteLength + name.length + bytes.length;
    progress(++done, files.length);
  }
  const length = directory.reduce((sum, part) => sum + part.byteLength, 0);
  const count = files.length;
  const end = pack([[0x06054b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [length, 4], [at, 4], [0, 2]]);
  return new Blob([...parts, ...directory, end], { type: "application/zip" });
};
