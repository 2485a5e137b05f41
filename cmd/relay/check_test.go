package relay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/internal/daemon"
	"c2c/internal/format"
	"c2c/relay"
)

func TestDoctorSaysWhatKeepsMailFromOtherMachines(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	if found := Check(getenv, time.Now()); found != nil {
		t.Errorf("nothing is paired: %+v", found)
	}
	r, err := Open(getenv, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Hosts(time.Now).Add(t.Context(), relay.Host{Name: "devbox", Carrier: relay.SSH, Dest: "me@devbox", Key: public(t)}); err != nil {
		t.Fatal(err)
	}
	expect := func(status format.Status, words string) {
		t.Helper()
		found := Check(getenv, time.Now())
		if len(found) != 1 || found[0].Status != status || !strings.Contains(found[0].Detail, words) {
			t.Errorf("%+v, want %s with %q", found, status, words)
		}
	}
	t.Setenv("PATH", filepath.Join(home, "bin"))
	expect(format.Warning, "no ssh")
	if err := errors.Join(os.Mkdir(filepath.Join(home, "bin"), 0o700), os.WriteFile(filepath.Join(home, "bin", "ssh"), nil, 0o700)); err != nil {
		t.Fatal(err)
	}
	expect(format.Warning, "no mail comes from other machines: c2c relay start") // after a boot, before anything of c2c runs
	if _, err := r.End(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	expect(format.Warning, "c2c relay start")
	if err := r.Start(t.Context(), daemon.Begin{Unasked: true}); !errors.Is(err, ErrStopped) {
		t.Errorf("what a person has stopped is started: %v", err)
	}
	if err := os.WriteFile(filepath.Join(home, ".c2c", "relay", "hosts.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(format.Problem, mendHosts)
}
