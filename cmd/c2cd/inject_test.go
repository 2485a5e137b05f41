package main

import (
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
)

func TestInjectSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	k.run("register", "amber", "--session-id", "amber")
	k.run("register", "birch", "--session-id", "birch")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"amber", "x"}, "who sends? add --from NAME"},
		{[]string{"--from", "birch", "nobody", "x"}, "c2c list shows all"},
		{[]string{"--from", "birch", "amber"}, "or - for standard input"},
		{[]string{"--from", "birch", "amber", "-"}, "the body is empty"},
		{[]string{"--from", "birch", "amber", "two", "words"}, "c2c send works"},
		{[]string{"--from", "birch", "amber", strings.Repeat("x", 100_000)}, "c2c send works"},
	} {
		if out, err := k.try(append([]string{"inject"}, tc.args...)...); err == nil || !strings.Contains(out, tc.want) {
			t.Errorf("%.60q: %v, %s", tc.args, err, out)
		}
	}
}

func TestAPersonInjectsAsThemselves(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	k.run("register", "amber", "--session-id", "amber")
	terminal, err := pty.Start(k.command("inject", "amber", "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	out, _ := io.ReadAll(terminal) // EIO when the program has ended
	if !strings.Contains(string(out), "c2c send works") {
		t.Errorf("it does not get as far as the session: %s", out)
	}
}
