/**
 * The runner of one call: a shell script that nobody has to wait for. It is given to bash where there is one (its `read`
 * has a time limit, so no `sleep` waits beside the command), else to /bin/sh. It runs in a session of its own in the
 * call's folder, with the names PERDURE_RUN_… in its environment; see docs/format/calls.md for the files it writes.
 *
 * Three processes: the script itself waits for what happens (`pid`, `end`, `eof`, `late`, one line each), the second is the
 * parent of the command, the third takes its output. File descriptor 3 is the line to the chat: a byte from the script
 * says that the status is there, a line from the chat says how many processes the command left in the background, and
 * its end says that the chat is gone.
 */
export const CALL_SCRIPT = `
umask 077
command=$PERDURE_RUN_COMMAND shell=$PERDURE_RUN_SHELL folder=$PERDURE_RUN_CWD mark=$PERDURE_RUN_MARK
timeout=$PERDURE_RUN_TIMEOUT cap=$PERDURE_RUN_CAP level=\${PERDURE_RUN_SHLVL-} path=$PATH
unset PERDURE_RUN_SCRIPT PERDURE_RUN_COMMAND PERDURE_RUN_SHELL PERDURE_RUN_CWD PERDURE_RUN_MARK
unset PERDURE_RUN_TIMEOUT PERDURE_RUN_CAP PERDURE_RUN_SHLVL
PATH=/usr/bin:/bin:$PATH
own= limited= grace=0.2 start=0 boot=
case \${BASH_VERSION-} in
"") command -v setsid >/dev/null && own=setsid ;;
[1-3].*) limited=whole timeout=$((\${timeout%.*} + 1)) grace=1 ;;
*) limited=yes && shopt -s lastpipe ;;
esac
if read -r stat 2>/dev/null </proc/$$/stat; then
  set -- \${stat##*) }
  shift 19
  start=$1
  read -r boot </proc/sys/kernel/random/boot_id
fi

now() {
  if read -r up idle 2>/dev/null </proc/uptime; then ms=\${up%.*}\${up#*.}0; else ms=$(date +%s)000; fi
}

# The living processes of the command, in $found: by its mark, its group and session, and their children.
living() {
  found=
  if [ "$start" = 0 ]; then
    kill -0 -- "-$pid" && found="-$pid"
    return
  fi
  rows= leader=\${pid:-none}
  # After its end the number may be another process's.
  if [ -n "$code" ] && [ -e "/proc/$pid" ]; then leader=none; fi
  for item in $(grep -sla "PERDURE_CALL=$mark" /proc/[0-9]*/environ); do
    item=\${item%/environ}
    found="$found \${item#/proc/} "
  done
  for item in /proc/[0-9]*; do
    read -r stat <"$item/stat" || continue
    item=\${item#/proc/}
    set -- \${stat##*) }
    case $1 in [ZX]) continue ;; esac
    if [ "$3" = "$leader" ] || [ "$4" = "$leader" ]; then found="$found $item "; fi
    rows="$rows $item:$2"
  done
  before=
  while [ "$before" != "$found" ]; do
    before=$found
    for item in $rows; do
      case $found in
      *" \${item%:*} "*) ;;
      *" \${item#*:} "*) found="$found \${item%:*} " ;;
      esac
    done
  done
}

# TERM, and KILL to what is left half a second later.
end_tree() {
  round=0 signal=TERM
  while [ $round -lt 20 ]; do
    living
    [ -n "$found" ] || return 0
    if [ $round = 0 ] || [ $signal = KILL ]; then kill -s $signal -- $found; fi
    sleep 0.1
    round=$((round + 1))
    [ $round -lt 5 ] || signal=KILL
  done
}

# The command's output: the first $cap bytes are kept; the rest is counted, and its end is kept.
take_output() {
  trap '' TERM HUP INT
  total=0 rest=0 left=$cap records=0 count=0 failed=no
  while [ $records = $count ] && [ "$left" -gt 0 ]; do
    size=65536 count=4096
    [ "$left" -ge $((size * count)) ] || count=$((left / size))
    [ $count -gt 0 ] || count=1
    [ "$left" -ge $size ] || size=$left
    # A read that brings less than a block counts as one (and dd warns): it may end before the output does, then the next
    # one goes on.
    if ! stats=$(LC_ALL=C dd bs=$size count=$count 2>&1 >>output); then
      failed=yes
      break
    fi
    set -- \${stats#*fullblock}
    records=$((\${1%+*} + \${1#*+})) total=$((total + $7)) left=$((left - $7))
  done
  # The end of the output brings less than was asked for; else the file is full, or the disk.
  if [ $failed = yes ] || [ $records = $count ]; then
    stats=$({ LC_ALL=C dd bs=65536 | tail -c 65536 >tail; } 2>&1)
    set -- $stats
    rest=$7
  fi
  echo "eof $total $rest" >&4
}

set -C
printf '{"format":1,"pid":%s,"start":"%s","boot":"%s","mark":"%s"}\\n' $$ "$start" "$boot" "$mark" 2>/dev/null >run || exit 0
printf '' 2>/dev/null >go || exit 0
set +C
now
began=$ms pid= asked=
# Whoever ends the runner means the command.
trap 'asked=yes' TERM HUP INT
{
  if [ -z "$limited" ]; then
    {
      sleep "$timeout" >/dev/null &
      echo "sleeper $!" >&4
      wait $!
      echo "late $?" >&4
    } >/dev/null 3<&- &
  fi
  {
    [ -n "$own" ] || set -m
    (
      cd -- "$folder" || exit 127
      unset OLDPWD
      if [ -n "$level" ]; then SHLVL=$level; else unset SHLVL; fi
      PATH=$path
      PERDURE_CALL=$mark exec $own "$shell" -c "$command"
    ) 2>&1 3<&- 4>&- </dev/null &
    pid=$!
    set +m
    trap '' TERM HUP INT
    echo "pid $pid" >&4
    wait $pid
    echo "end $?" >&4
    exec >/dev/null
    [ -n "$limited" ] || { sleep $grace && echo grace >&4; }
  } 3<&- | take_output 3<&-
} 4>&1 | {
  code= bytes=null rest=0 timedOut=false limit=$timeout sleeper= since=0
  trap '' PIPE
  trap 'asked=yes; [ -z "$pid" ] || end_tree' TERM HUP INT
  while :; do
    [ -z "$limited" ] || since=$SECONDS
    event= value= more=
    read -r \${limited:+-t "$limit"} event value more
    read=$?
    if [ -n "$asked" ] && [ -z "$event" ] && [ $read -gt 128 ] && [ "$limit" != 5 ]; then
      limit=5
      continue
    fi
    case $event in
    sleeper) sleeper=$value && continue ;;
    pid)
      pid=$value
      echo "$pid" >pid
      if [ $timedOut = true ] || [ -n "$asked" ]; then end_tree; fi
      continue
      ;;
    end)
      code=$value limit=$grace
      [ "$bytes" = null ] || break
      continue
      ;;
    eof)
      bytes=$value rest=$more
      [ -z "$code" ] || break
      continue
      ;;
    late) limit=0 ;;
    grace) limit=0 ;;
    *)
      # The time is over, or (an end of file) whatever could tell was ended from outside.
      if [ $read -le 128 ]; then
        [ -z "$code" ] || break
        if [ "$limited" != whole ] || [ $((SECONDS - since)) -lt "$limit" ]; then
          end_tree
          exit 1
        fi
      fi
      ;;
    esac
    if [ -n "$code" ]; then
      # The output is still open: a child in the background holds it, or the disk is behind.
      living
      { [ -z "$found" ] && [ "$limit" != 10 ] && [ -n "$limited" ]; } || break
      limit=10
    elif [ $timedOut = true ]; then
      code=137
      break
    else
      timedOut=true limit=5
      [ -z "$pid" ] || end_tree
    fi
  done
  now
  printf '{"format":1,"exit":%s,"timedOut":%s,"durationMs":%s,"outputBytes":%s,"restBytes":%s}\\n' \\
    "$code" $timedOut $((ms - began)) "$bytes" "$rest" >status
  printf s >&3
  [ -z "$sleeper" ] || kill "$sleeper"
  [ "$start" = 0 ] || sync output status .
  # What the command left in the background lives as long as the chat.
  if read -r left <&3; then
    [ "$left" != 0 ] || exit 0
    read -r left <&3
  fi
  if read -r chat <attached && kill -0 "$chat"; then exit 0; fi
  end_tree
  exit 0
}
`;
