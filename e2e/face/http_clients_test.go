package face

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"c2c/e2e/lab"
)

// remote is a real client that has c2c's tools over HTTP and nothing else of c2c: no hook, no
// plugin, no server of its own.
type remote struct {
	is lab.Client
	// seed configures it with the daemon's URL and token.
	seed func(l *lab.Lab, model *lab.Model, url, token string)
	tui  func(l *lab.Lab, model *lab.Model) *lab.Proc
}

func remotes() []remote {
	headers := func(token string) map[string]any { return map[string]any{"Authorization": "Bearer " + token} }
	return []remote{
		{lab.Gemini, func(l *lab.Lab, _ *lab.Model, url, token string) {
			l.SeedGemini(map[string]any{"mcpServers": map[string]any{"c2c": map[string]any{"httpUrl": url, "headers": headers(token), "trust": true}}})
		}, func(l *lab.Lab, model *lab.Model) *lab.Proc { return l.GeminiTUI(model) }},
		{lab.Qwen, func(l *lab.Lab, _ *lab.Model, url, token string) {
			l.SeedQwen(map[string]any{"mcpServers": map[string]any{"c2c": map[string]any{"httpUrl": url, "headers": headers(token), "trust": true}}})
		}, func(l *lab.Lab, model *lab.Model) *lab.Proc { return l.QwenTUI(model) }},
		{lab.OpenCode, func(l *lab.Lab, model *lab.Model, url, token string) {
			l.SeedOpenCode(model, map[string]any{"mcp": map[string]any{"c2c": map[string]any{"type": "remote", "url": url, "headers": headers(token), "oauth": false}}})
		}, func(l *lab.Lab, _ *lab.Model) *lab.Proc { return l.OpenCodeTUI() }},
		{lab.Codex, func(l *lab.Lab, model *lab.Model, url, token string) {
			l.Setenv("C2C_TOKEN", token)
			l.SeedCodex(model, fmt.Sprintf("[mcp_servers.c2c]\nurl = %q\nbearer_token_env_var = \"C2C_TOKEN\"\n", url))
		}, func(l *lab.Lab, _ *lab.Model) *lab.Proc { return l.CodexTUI("--no-daemon") }},
	}
}

func newLab(t *testing.T) *lab.Lab {
	t.Helper()
	programs, err := lab.FindPrograms(clients(), lab.Programs{Bin: os.Getenv("C2C_E2E_BIN"), Scratch: os.Getenv("C2C_E2E_SCRATCH")})
	if err != nil {
		t.Fatal(err)
	}
	return lab.New(t, programs)
}

// person is a computer on which the daemon runs, and the client's window.
type person struct {
	*lab.Lab
	t      *testing.T
	client lab.Client
	model  *lab.Model
	window *lab.Proc
}

func newPerson(t *testing.T, c remote) *person {
	t.Helper()
	p := &person{Lab: newLab(t), t: t, client: c.is, model: lab.NewModel(t)}
	// Not in the project: the client's own directory is to say which one it works in.
	url := urlIn(p.Run("sh", "-c", "cd && exec c2c serve start --port 0"))
	p.Run("c2c", "register", "birch", "--session-id", "birch")
	c.seed(p.Lab, p.model, url, strings.TrimSpace(p.Read(".c2c/http-mcp-token")))
	p.window = c.tui(p.Lab, p.model)
	return p
}

// turn has the person type a prompt, on which the model calls a tool and answers.
func (p *person) turn(prompt, tool string, args map[string]any) {
	p.t.Helper()
	p.model.Script(lab.CallMCP(p.client, "c2c", tool, args), lab.Say("Done: "+prompt+"."))
	p.window.Submit(prompt)
	p.window.WaitShown("Done: " + prompt + ".")
}

// last is what the tool has answered in the newest turn.
func (p *person) last(prompt string) string {
	p.t.Helper()
	turns := p.model.Turns()
	for _, r := range slices.Backward(turns) {
		if i := r.Last(); i.Role == "tool" && len(r.Find(prompt)) > 0 {
			return i.Text
		}
	}
	p.t.Fatalf("no tool has answered in the turn of %q:\n%s", prompt, p.model.Dump())
	return ""
}

type listed struct {
	Alias, Client string
	Surface       string `json:"surface_support"`
}

func (p *person) list() (all []listed) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.Run("c2c", "list", "--all", "--json")), &all); err != nil {
		p.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(one listed) bool { return one.Alias == "birch" })
}

func (p *person) waitSurface(want string) {
	p.t.Helper()
	p.WaitUntil("surface_support "+want, func() bool { all := p.list(); return len(all) == 1 && all[0].Surface == want })
}

// send has birch write; the words are put together there, so that nothing else has them.
func (p *person) send(word string) {
	p.t.Helper()
	p.Run("sh", "-c", "printf 'word-%s' "+word+" | c2c send amber --from birch --id id-"+word+" -")
}

// kill ends the daemon as a crash does, and starts another.
func (p *person) kill() {
	p.t.Helper()
	var st struct{ PID int }
	if err := json.Unmarshal([]byte(p.Run("c2c", "serve", "status", "--json")), &st); err != nil {
		p.t.Fatal(err)
	}
	if err := syscall.Kill(st.PID, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	p.Run("sh", "-c", "cd && exec c2c serve start")
}

// reads has the model poll until it has the message. A call may break with the connection to the
// old daemon, and Qwen 0.24.4 then connects anew behind the next prompt. Until it has, each call is
// an error, and the mail waits: no call may find nothing.
func (p *person) reads(word string) {
	p.t.Helper()
	const prompts = 8
	for i := range prompts {
		prompt := fmt.Sprint("prompt-", word, "-", i)
		p.turn(prompt, "poll_inbox", map[string]any{})
		got := p.last(prompt)
		if n := strings.Count(got, "word-"+word); n == 1 {
			return
		} else if n > 1 || strings.Contains(got, "[]") {
			p.t.Errorf("polled %s", got)
		}
		p.t.Logf("%s has lost a call with the daemon: %s", p.client, got)
	}
	p.t.Errorf("the model never has %s:\n%s", word, p.model.Dump())
}

// rung waits until a bell for the message is with the client's kernel.
func (p *person) rung(word string) {
	p.t.Helper()
	p.WaitFile(".c2c/*/*/broker/broker.log", `"result":"rang","message_id":"id-`+word+`"`)
}

// Each registers, writes and reads, has one mailbox, and keeps it over a restart and a kill of the
// daemon.
//
// It is also the proof that SPEC-091 asks for (milestone 1), with these clients: a bell on the
// stream of an idle session arrives, and begins no turn. The first request that the model gets
// behind the bell is that of the prompt which its person types. So a session over HTTP is rung as
// the protocol says, and no client that runs here acts on it.
func TestRealClientsOverHTTP(t *testing.T) {
	for _, c := range remotes() {
		t.Run(string(c.is), func(t *testing.T) {
			p := newPerson(t, c)
			p.turn("prompt-one", "me", map[string]any{"alias": "amber"})
			p.turn("prompt-two", "send", map[string]any{"to_alias": "birch", "content": "words of amber"})
			if got := p.Run("c2c", "poll-inbox", "--session-id", "birch"); !strings.Contains(got, "words of amber") {
				t.Errorf("birch has %q", got)
			}
			p.waitSurface("full")

			before := len(p.model.Turns())
			p.send("first")
			p.rung("first")
			p.turn("prompt-three", "poll_inbox", map[string]any{})
			if after := p.model.Turns()[before:]; len(after) == 0 || len(after[0].Find("prompt-three")) == 0 {
				t.Errorf("the bell has begun a turn: milestone 1 of SPEC-091 succeeds with this client, and docs/clients.md is to say so\n%s", p.model.Dump())
			}
			if got := p.last("prompt-three"); strings.Count(got, "word-first") != 1 {
				t.Errorf("polled %s", got)
			}
			for i, ends := range []func(){
				func() { p.Run("c2c", "serve", "restart") },
				p.kill,
			} {
				ends()
				word := fmt.Sprint("later", i)
				p.send(word)
				p.reads(word)
			}
			if all := p.list(); len(all) != 1 || all[0].Alias != "amber" || all[0].Client != string(c.is) {
				t.Errorf("its mailboxes are %+v", all)
			}
		})
	}
}
