package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"c2c/broker"
	"c2c/client"
	"c2c/sessions"
)

func TestErrorsAreJSONWhereTheAnswerWouldBe(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want bool
	}{
		{[]string{"list", "--json"}, true},
		{[]string{"list", "--json=true", "--nosuch"}, true},
		{[]string{"list", "--nosuch", "--json=1"}, true},
		{[]string{"list", "--json=false"}, false},
		{[]string{"list", "--json=maybe"}, false},
		{[]string{"send", "amber", "--", "--json"}, false},
		{nil, false},
	} {
		if got := wantsJSON(tc.args); got != tc.want {
			t.Errorf("%q: %t, want %t", tc.args, got, tc.want)
		}
	}
}

// A hint shows the form that was meant, not the verb's first example.
func TestAHintShowsTheFormThatWasMeant(t *testing.T) {
	t.Parallel()
	mistake := fmt.Errorf("%w: x", ErrUsage)
	for _, tc := range []struct{ typed, want string }{
		{"senders", "such as: c2c senders list; c2c help senders shows how"},
		{"senders allow ci", "such as: c2c senders allow ci --to birch; c2c help senders shows how"},
		{"relay --json allow", "such as: c2c relay allow devbox --aliases birch,elm --projects this; c2c help relay allow shows how"},
		{"relay hub join", "such as: c2c relay hub join host-laptop.json; c2c help relay hub shows how"},
		{"rooms create", "such as: c2c rooms create review; c2c help rooms shows how"},
		{"wake attach x", "c2c help wake shows how"}, // it has no example
		{"dnd amber on", "such as: c2c dnd on --session-id amber; c2c help dnd shows how"},
	} {
		words := strings.Fields(tc.typed)
		if got := FailureOf(words[0], WithExample(mistake, words)).Hint; got != tc.want {
			t.Errorf("%s: %q, want %q", tc.typed, got, tc.want)
		}
	}
	for _, err := range []error{errors.New("x"), WithHint(mistake, "y")} {
		if got := WithExample(err, []string{"senders", "allow"}); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}

func TestAHintNamesAClientThatIsHere(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	hint := func() string {
		return FailureOf("list", NoRoot(&broker.NoRootError{Root: filepath.Join(bin, "none"), Source: "HOME", Dir: bin})).Hint
	}
	all := client.All()
	if got := hint(); !strings.Contains(got, "--alias amber "+all[0].Name+" ") {
		t.Errorf("none is here: %q", got)
	}
	here := all[1]
	if err := os.WriteFile(filepath.Join(bin, client.ProgramOf(here.Name)), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := hint(); !strings.Contains(got, "--alias amber "+here.Name+" ") {
		t.Errorf("%s is here: %q", here.Name, got)
	}
}

// Each file with mail has the same warning on a full disk: one command prints it once, with what to
// do.
func TestTheFullDiskIsToldOncePerCommand(t *testing.T) {
	var out bytes.Buffer
	log := sessions.WarningLogger(Warnings(&out))
	for _, file := range []string{"a.jsonl", "b.jsonl"} {
		log.Warn("mail is not archived yet", "session", "b", "err", fmt.Errorf("append to %q: %w", file, syscall.ENOSPC))
	}
	log.Warn("mail is damaged", "session", "b")
	if want := "c2c: mail is not archived yet: the disk is full; free some space\nc2c: mail is damaged: session b\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestAnExpiredContextIsASentence(t *testing.T) {
	f := FailureOf("search", fmt.Errorf("read archive of birch: %w", context.DeadlineExceeded))
	if f.Message != "read archive of birch: this took too long, and c2c has given up" || !strings.Contains(f.Hint, "try again") || f.Exit != Failed {
		t.Errorf("%+v", f)
	}
}
