package face

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/e2e/lab"
	"c2c/internal/atomicfile"
	"c2c/sessions/permission"
)

// asking is a Claude Code with a channel, which asks its person before it runs a command. e2e has
// the other ways to answer.
type asking struct {
	*lab.Lab
	t      *testing.T
	model  *lab.Model
	window *lab.Proc
	store  *permission.Store
}

// does what the page's part of the test wants done.
func (a *asking) does(w wish) (any, error) {
	switch w.Do {
	case "link":
		return pageLink.FindString(a.Terminal(a.Env("USER=ada"), program("c2c"), "open", "--print").Wait()), nil
	case "begin":
		return a.begin(), nil
	case "effect":
		return a.effect(w.ID), nil
	}
	return nil, errors.New("nobody knows how to " + w.Do)
}

// begin starts the client, and has its model call two tools in one turn.
func (a *asking) begin() (paths []string) {
	a.t.Helper()
	a.window = a.ClaudeChannel(a.model, program("c2c"), "--", "--permission-mode", "default")
	calls := lab.CallMCP(lab.Claude, "c2c", "me", map[string]any{"alias": "amber"})
	var tools lab.Reply
	for _, name := range []string{"one", "two"} {
		path := filepath.Join(a.Home, "made-"+name)
		paths = append(paths, path)
		tools.Calls = append(tools.Calls, lab.Call("Bash", map[string]any{"command": "touch " + path, "description": "make it"}).Calls...)
	}
	a.model.Script(calls, tools, lab.Say("It is over."))
	a.window.Submit("prompt-one")
	return paths
}

// effect waits until the client has the verdict on what makes a file, says whose it is, and looks
// whether the file is there.
func (a *asking) effect(path string) string {
	a.t.Helper()
	var r permission.Request
	a.WaitUntil("verdict that its client has", func() bool {
		all, err := a.store.List(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(r permission.Request) bool { return strings.Contains(r.Input, path) && r.SentAt > 0 })
		if i >= 0 {
			r = all[i]
		}
		return i >= 0
	})
	made := func() bool { _, err := os.Stat(path); return err == nil }
	if r.State == permission.StateAllowed {
		a.WaitUntil("file "+path, made)
	} else {
		a.window.WaitGone("Do you want to proceed")
		if made() {
			a.t.Error("the tool ran")
		}
	}
	return string(r.State) + " by " + r.By + " (" + r.Via + ")"
}

func TestThePageAnswersADialogOfClaude(t *testing.T) {
	a := &asking{Lab: newLab(t), t: t, model: lab.NewModel(t)}
	a.Setenv("C2C_MCP_CHANNEL_DELIVERY", "doorbell")
	a.SeedClaude(map[string]any{"permissions": map[string]any{"allow": []string{"mcp__c2c"}}})
	a.AllowChannels(lab.PermissionFlag)
	a.Run("c2c", "install", "claude")
	url := urlIn(a.Run("c2c", "serve", "start", "--port", "0"))
	a.Run("c2c", "register", "birch", "--session-id", "birch")
	roots, err := filepath.Glob(a.Home + "/.c2c/repos/*/broker")
	if err != nil || len(roots) != 1 {
		t.Fatalf("%q, %v", roots, err)
	}
	dir, err := atomicfile.Open(roots[0])
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	a.store = permission.Open(dir, time.Now)
	browse(t, url, "claude", a.does)
}
