// The numbers of decision 001: six saves, one of which may fail, a crash after any step, some of what was not synced
// kept; then the conversation is opened and saved to again. A run is broken when an acknowledged record is lost,
// repeated, or glued to another one.
const records = [0, 1, 2, 3, 4, 5].map((seq) => `{"seq":${seq},"text":"${"x".repeat(8 + seq)}"}\n`);
const kept = [0, 0.3, 0.7, 1];

class Disk {
  bytes = "";
  synced = "";
  write(text, part) {
    this.bytes += part === undefined ? text : text.slice(0, Math.floor(text.length * part));
    if (part !== undefined) throw new Error("ENOSPC");
  }
  sync(fails) {
    if (fails) throw new Error("EIO");
    this.synced = this.bytes;
  }
  truncate(size) {
    this.bytes = this.bytes.slice(0, size);
  }
  afterCrash(keep) {
    let same = 0;
    while (same < Math.min(this.synced.length, this.bytes.length) && this.synced[same] === this.bytes[same]) same += 1;
    const unsynced = this.bytes.slice(same);
    const disk = new Disk();
    disk.bytes = this.bytes.slice(0, same) + unsynced.slice(0, Math.floor(unsynced.length * keep));
    return disk;
  }
}

const cutTornLine = (disk) => disk.truncate(disk.bytes.lastIndexOf("\n") + 1);
const nothing = () => {};
const designs = {
  "append, no repair": { open: nothing, afterFailure: nothing },
  "cut the torn line at open and after a failed save": { open: cutTornLine, afterFailure: cutTornLine },
  "the same, back to the acknowledged size": {
    open: cutTornLine,
    afterFailure: (disk, acknowledged) => disk.truncate(acknowledged),
  },
};
const faults = [
  undefined,
  ...records.flatMap((_, at) => [...kept.map((part) => ({ at, part })), { at, part: undefined }]),
];

for (const [name, design] of Object.entries(designs)) {
  let [runs, broken] = [0, 0];
  for (const fault of faults) {
    for (let crashAt = 0; crashAt <= records.length * 2 + 2; crashAt += 1) {
      const { disk, saved } = save(design, fault, crashAt);
      for (const keep of kept) {
        runs += 1;
        if (isBroken(design, disk.afterCrash(keep), saved)) broken += 1;
      }
    }
  }
  console.log(`${name}: ${broken} of ${runs} broken`);
}

/** Saves until the crash. `saved`: how many records were acknowledged by then. */
function save(design, fault, crashAt) {
  const disk = new Disk();
  let [steps, saved, acknowledged, failed] = [0, 0, 0, false];
  while (saved < records.length) {
    const fails = !failed && fault?.at === saved;
    try {
      if (steps++ === crashAt) break;
      disk.write(records[saved], fails ? fault.part : undefined);
      if (steps++ === crashAt) break;
      disk.sync(fails);
      acknowledged = disk.bytes.length;
      saved += 1;
    } catch {
      failed = true;
      design.afterFailure(disk, acknowledged);
    }
  }
  return { disk, saved };
}

function isBroken(design, disk, saved) {
  design.open(disk);
  disk.write(`{"seq":${read(disk).filter((seq) => seq !== "torn").length},"text":"next"}\n`);
  const found = read(disk);
  return found.length <= saved || found.some((seq, index) => seq !== index);
}

function read(disk) {
  const lines = disk.bytes.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    try {
      return JSON.parse(line).seq;
    } catch {
      return "torn";
    }
  });
}
