package outside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/sessions/permission"
)

// asks asks for permission as the server of a session does. Its store holds the locks of what it
// has asked.
func (d *webhookDesk) asks(store *permission.Store, id, alias string) {
	d.t.Helper()
	if err := store.Ask(d.t.Context(), permission.Request{ID: id, Session: "s-" + alias, Alias: alias, Tool: "Bash", Input: `{"command":"rm"}`}); err != nil {
		d.t.Fatal(err)
	}
}

func TestASenderWithTheRightDecides(t *testing.T) {
	d := webhookNewDesk(t)
	key := d.allow(Sender{Name: "phone", Verdicts: true, To: []string{"Birch"}})
	ci := d.allow(Sender{Name: "ci"})
	chat := d.allow(Sender{Name: "chat", Verdicts: true, Bridge: true, Identities: []string{"u1"}})
	store := permission.Open(d.b.Dir(), time.Now)
	d.asks(store, "abcde", "birch")
	d.asks(store, "bcdef", "birch")
	d.asks(store, "cdefg", "elm")
	d.want(403, "may not answer", "/", "yes abcde", "key", ci)
	d.want(404, "no permission request", "/", "yes zzzzz", "key", key)
	d.want(404, "no permission request", "/", "yes cdefg", "key", key) // of a session to which it may not write
	d.want(403, "knows you", "/", "yes abcde", "key", chat, "X-Sender", "u2")
	if text := d.want(200, "verdict recorded", "/in/birch", " Y ABCDE\n", "key", key); text != "verdict recorded" {
		t.Errorf("the reference says: verdict recorded; this %q", text)
	}
	d.want(409, "allowed already, by phone", "/", "no abcde", "key", key)
	d.want(200, "verdict recorded", "/", `{"text":"no bcdef"}`, "key", chat, "X-Sender", "u1", "Content-Type", "application/json")
	for id, want := range map[string]string{"abcde": "allowed phone", "bcdef": "denied chat/u1", "cdefg": "open "} {
		all, err := store.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			if r.ID == id && string(r.State)+" "+r.By != want {
				t.Errorf("%s is %s by %q, want %s", id, r.State, r.By, want)
			}
		}
	}
	if all := d.mail("birch"); len(all) > 0 {
		t.Errorf("a verdict became mail: %+v", all)
	}
	audit, err := os.ReadFile(filepath.Join(d.b.Root(), "permission", "audit.jsonl"))
	if err != nil || !strings.Contains(string(audit), `"ci"`) {
		t.Errorf("who had no right is not in the audit: %s %v", audit, err)
	}
	d.want(200, "ok", "/", "yes abcdef", "key", ci) // another form is mail
}

// Two sessions may ask with one id. The path says which is meant.
func TestAVerdictForOneOfTwo(t *testing.T) {
	d := webhookNewDesk(t)
	key := d.allow(Sender{Name: "phone", Verdicts: true, To: []string{"birch", "elm"}})
	store := permission.Open(d.b.Dir(), time.Now)
	d.asks(store, "abcde", "birch")
	d.asks(store, "abcde", "elm")
	d.want(409, "post to /in/<alias>", "/", "no abcde", "key", key)
	d.want(200, "verdict recorded", "/in/elm", "no abcde", "key", key)
	all, err := store.List(t.Context())
	for _, r := range all {
		if want := map[string]permission.State{"birch": permission.StateOpen, "elm": permission.StateDenied}[r.Alias]; r.State != want {
			t.Errorf("%s is %s", r.Name(), r.State)
		}
	}
	if err != nil || len(all) != 2 {
		t.Errorf("%+v %v", all, err)
	}
}
