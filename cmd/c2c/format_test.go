package main

import (
	"os/exec"
	"strings"
	"testing"

	"c2c/e2e/need"
)

// formatProgram uses a root as docs/compatibility.md says: it takes the lock files with lockf,
// replaces JSON arrays whole, and appends lines of JSON to an archive.
const formatProgram = `
import fcntl, json, os, sys, time
root, verb, *args = sys.argv[1:]
def locked(lock):
    f = open(os.path.join(root, lock), "a"); fcntl.lockf(f, fcntl.LOCK_EX); return f
def read(name):
    try: return json.load(open(os.path.join(root, name)))
    except FileNotFoundError: return []
def replace(name, value):
    path = os.path.join(root, name)
    with open(path + ".tmp", "w") as f: json.dump(value, f)
    os.replace(path + ".tmp", path)
if verb == "register":
    with locked("registry.json.lock"):
        replace("registry.json", read("registry.json") + [{"session_id": args[0], "alias": args[0], "pid": None, "registered_at": 1.5, "enc_pubkey": "k"}])
elif verb == "list":
    print(*[row["alias"] for row in read("registry.json")])
elif verb == "send":
    to, text, message = args
    sid = [row["session_id"] for row in read("registry.json") if row["alias"] == to][0]
    with locked(sid + ".inbox.lock"):
        replace(sid + ".inbox.json", read(sid + ".inbox.json") + [{"from_alias": "storm", "to_alias": to, "content": text, "ts": time.time(), "message_id": message}])
elif verb == "drain":
    sid = args[0]
    with locked(sid + ".inbox.lock"):
        mail = read(sid + ".inbox.json")
        os.makedirs(os.path.join(root, "archive"), 0o700, exist_ok=True)
        with locked("archive/" + sid + ".lock"), open(os.path.join(root, "archive", sid + ".jsonl"), "a") as archive:
            for m in mail: archive.write(json.dumps(dict(m, drained_at=time.time(), drained_by="storm", session_id=sid)) + "\n")
        replace(sid + ".inbox.json", [])
    for m in mail: print(m["from_alias"], m["content"])
elif verb == "history":
    for line in open(os.path.join(root, "archive", args[0] + ".jsonl")): print(json.loads(line)["content"])
`

// A program that knows only the format registers, sends and reads in a root of ours, and each reads
// what the other has written.
func TestAProgramOfTheFormatIsReadAndReads(t *testing.T) {
	need.Tools(t, "python3")
	root := scratch(t)
	program := func(want string, args ...string) {
		t.Helper()
		out, err := exec.Command("python3", append([]string{"-c", formatProgram, root}, args...)...).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q: %v: %s; want %s", args, err, out, want)
		}
	}
	contains := func(out, want string) {
		t.Helper()
		if !strings.Contains(out, want) {
			t.Errorf("%s lacks %q", out, want)
		}
	}
	mustRun(t, root, "", "register", "amber", "--session-id", "amber")
	program("", "register", "storm")
	mustRun(t, root, "", "register", "coral", "--session-id", "coral")
	for _, alias := range []string{"amber", "storm", "coral"} {
		contains(mustRun(t, root, "amber", "list"), alias)
	}
	program("", "send", "amber", "is it green?", "m-1")
	contains(mustRun(t, root, "amber", "poll-inbox"), "is it green?")
	mustRun(t, root, "amber", "send", "storm", "it is green", "--id", "m-2")
	mustRun(t, root, "amber", "send", "storm", "ärger & \"more\"")
	contains(mustRun(t, root, "amber", "status", "m-2"), "queued")
	program("amber it is green\namber ärger & \"more\"", "drain", "storm")
	contains(mustRun(t, root, "amber", "status", "m-2"), "by storm")
	contains(mustRun(t, root, "storm", "history"), "it is green")
	mustRun(t, root, "amber", "send", "storm", "again")
	program("amber again", "drain", "storm") // nothing twice
	program("is it green?", "history", "amber")
}
