import type { Disk, DiskFile } from "./disk.js";

/** Opens a file to read it, and closes it whatever happens. */
export async function reading<T>(disk: Disk, path: string, use: (file: DiskFile) => Promise<T>): Promise<T> {
  const file = await disk.open(path, "read");
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** So much is read at once: see disk.ts. It takes a third off a list of 1,000 conversations. */
const READ_SYNC_BYTES_MAX = 1 << 14;

/** The bytes from one position to another, fewer when the file ends before. */
export async function readRange(file: DiskFile, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.max(0, to - from));
  let done = 0;
  while (done < bytes.length) {
    const rest = bytes.subarray(done);
    const count =
      rest.length <= READ_SYNC_BYTES_MAX ? file.readSync(rest, from + done) : await file.read(rest, from + done);
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
}
