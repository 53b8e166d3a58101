/** `120 ms`, `1.2 s`, `2 min 5 s`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "0 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

/** When something was, in the person's own time: `just now`, `5 min ago`, `today 14:05`, `2026-11-28 14:05`. */
export function formatWhen(iso: string | undefined, now: Date): string {
  const at = new Date(iso ?? "");
  if (Number.isNaN(at.getTime())) return "?";
  const minutes = Math.floor((now.getTime() - at.getTime()) / 60_000);
  if (minutes >= 0 && minutes < 1) return "just now";
  if (minutes >= 0 && minutes < 60) return `${minutes} min ago`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return at.toDateString() === now.toDateString() ? `today ${time}` : `${day} ${time}`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}
