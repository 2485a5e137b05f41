package broker_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// way is the status of a message to birch, in words.
func (w *world) way(id string) (sentence, do string) {
	w.t.Helper()
	st, err := w.Status(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return st.Sentence(), st.Do
}

// ringerEnded is what is said of a session whose c2c start was killed.
const ringerEnded = "the process of c2c that rang it has ended, and c2c knows of no other"

func TestAStatusSaysWhyNobodyHasRead(t *testing.T) {
	for name, c := range map[string]struct {
		client  string // empty: qwen
		start   string // the name that c2c start has given it
		message mail.Message
		do      func(w *world, birch sessions.Session, m mail.Message)
		want    string // behind "stored at …; "
		cure    string
	}{
		"in a turn": {do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.turn(birch.ID, sessions.Busy, inbox.ByHook)
		},
			want: "birch is in a turn (0 s); its hook brings the message at the next tool call, or at the end of the turn"},
		"in a turn of Codex": {client: "codex", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.turn(birch.ID, sessions.Busy, inbox.ByHook)
		},
			want: "birch is in a turn (0 s); its hook announces the message at the next tool call; its app-server, or without that its hook, brings it when the turn ends"},
		"in a dialog": {do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.turn(birch.ID, sessions.Waiting, inbox.ByHook)
		},
			want: "birch waits for its person (0 s); its model reads nothing until then", cure: "answer the dialog in its terminal"},
		"absent": {do: func(w *world, birch sessions.Session, _ mail.Message) { w.ends(20) },
			want: "birch is absent; the message waits until it is back", cure: "its next prompt brings the mail"},
		"absent, and only c2c start rings it": {client: "gemini", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.attach(callers.Caller{Client: "gemini", ClientID: "g-1", PID: w.pid(20)})
			w.ends(20)
		}, want: "birch is absent; the message waits until it is back", cure: "open it anew with c2c start --alias birch gemini -- --resume g-1; then mail wakes it"},
		"absent, and named by c2c start": {client: "kimi", start: "birch", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.attach(callers.Caller{Explicit: birch.ID, Client: "kimi", ClientID: "k-1", PID: w.pid(20)})
			w.ends(20)
		}, want: "birch is absent; the message waits until it is back", cure: "open it anew with c2c start --alias birch kimi -- --session k-1; then mail wakes it"},
		"absent, and its plugin reports the session that it is opened with": {client: "opencode", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.attach(callers.Caller{Explicit: birch.ID, Client: "opencode", ClientID: "ses_1", PID: w.pid(20)})
			w.ends(20)
		}, want: "birch is absent; the message waits until it is back", cure: "open it anew with c2c start --alias birch opencode -- --session ses_1; then mail wakes it"},
		"absent, and its client never named its conversation": {client: "opencode", start: "birch", do: func(w *world, _ sessions.Session, _ mail.Message) { w.ends(20) },
			want: "birch is absent; the message waits until it is back", cure: "open it anew with c2c start --alias birch opencode; then mail wakes it"},
		"absent since before its first turn": {client: "copilot", start: "birch", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.attach(callers.Caller{Explicit: birch.ID, Client: "copilot", ClientID: "c-1", PID: w.pid(20)})
			w.ends(20)
			w.cfg.Getenv = func(string) string { return "" }
			w.reopen()
		}, want: "birch is absent; the message waits until it is back", cure: "open it anew with c2c start --alias birch copilot; then mail wakes it"},
		"c2c was uninstalled": {do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.turn(birch.ID, sessions.Idle, inbox.ByHook)
			w.hold(ringLock(birch.ID))
			w.cfg.Uninstalled = func(client string, pid int) bool { return client == "qwen" && pid == w.pid(20) }
			w.reopen()
		}, want: "birch is idle (0 s); c2c was uninstalled while its client ran, so nothing brings it mail", cure: "c2c install"},
		"do not disturb": {do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.turn(birch.ID, sessions.Idle, inbox.ByHook)
			if err := w.SetQuiet(w.t.Context(), birch.ID, true); err != nil {
				w.t.Fatal(err)
			}
		}, want: "birch is idle (0 s); it does not want to be disturbed, so the message waits for its next turn", cure: "c2c dnd off"},
		"deferrable": {message: mail.Message{Deferrable: true}, do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.turn(birch.ID, sessions.Idle, inbox.ByHook)
		},
			want: "birch is idle (0 s); the message is deferrable and wakes nobody: the next turn brings it"},
		"nobody rings": {do: func(w *world, birch sessions.Session, _ mail.Message) {},
			want: "birch runs; c2c knows of nothing that rings it: its next turn brings the message", cure: "no server of c2c runs in it: c2c doctor"},
		"its server rings nobody": {do: func(w *world, birch sessions.Session, _ mail.Message) { w.hold(sessions.ServerLock(birch.ID)) },
			want: "birch runs; c2c knows of nothing that rings it: its next turn brings the message", cure: "c2c doctor tells more"},
		"only a terminal could ring": {client: "gemini", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.turn(birch.ID, sessions.Idle, inbox.ByHook)
			w.hold(sessions.ServerLock(birch.ID))
		}, want: "birch is idle (0 s); c2c knows of nothing that rings it: its next turn brings the message", cure: "open it anew with c2c start --alias birch gemini, or run c2c wake attach in its tmux pane"},
		"a terminal that is gone rang before": {client: "kimi", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.bell(birch.ID)
			w.attach(callers.Caller{Explicit: birch.ID, Client: "kimi", PID: w.starts(20)})
		}, want: "birch runs; c2c knows of nothing that rings it: its next turn brings the message", cure: "open it anew with c2c start --alias birch kimi, or"},
		"its client runs with a configuration of its own": {client: "kimi", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.attach(callers.Caller{Explicit: birch.ID, Client: "kimi", ClientID: "k-1", PID: w.pid(20)})
			stored := filepath.Join(w.Root(), "private")
			if err := os.MkdirAll(filepath.Join(stored, "sessions", "shop", "k-1"), 0o700); err != nil {
				w.t.Fatal(err)
			}
			w.cfg.Getenv = func(string) string { return "" }
			w.reopen()
			w.Processes = &startedAs{w.Processes, []string{"KIMI_CODE_HOME=" + stored}}
		}, want: "birch runs; c2c knows of nothing that rings it: its next turn brings the message", cure: "open it anew with c2c start --alias birch kimi, or"},
		"c2c start was killed": {client: "kimi", do: func(w *world, birch sessions.Session, _ mail.Message) { w.losesBell(birch.ID) },
			want: "birch runs; " + ringerEnded, cure: "its next prompt brings the mail; if no terminal shows it any more, end it (process PID) and open it anew with c2c start --alias birch kimi"},
		"c2c start was killed before its client had begun": {client: "kimi", start: "birch", do: func(w *world, birch sessions.Session, _ mail.Message) { w.losesBell(birch.ID) },
			want: "birch runs; " + ringerEnded, cure: "its next prompt brings the mail; if no terminal shows it any more, end it (process PID)"},
		"c2c start was killed in a dialog": {client: "kimi", do: func(w *world, birch sessions.Session, m mail.Message) {
			w.turn(birch.ID, sessions.Waiting, inbox.ByHook)
			w.losesBell(birch.ID)
		}, want: "birch waits for its person (0 s); " + ringerEnded, cure: "its next prompt brings the mail; if no terminal shows it any more, end it (process PID)"},
		"c2c start was killed, and could not ring before": {client: "kimi", do: func(w *world, birch sessions.Session, m mail.Message) {
			w.losesBell(birch.ID)
			w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.ByTerminal, Outcome: wake.Uncaptured, Cause: "a draft stands in the prompt"}.For(m))
		}, want: "did not ring birch at TIME by its terminal: a draft stands in the prompt; birch runs; " + ringerEnded, cure: "its next prompt brings the mail; if no terminal shows it any more, end it (process PID)"},
		"c2c start was killed after its ring": {client: "kimi", do: func(w *world, birch sessions.Session, m mail.Message) {
			w.losesBell(birch.ID)
			w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.ByTerminal, Outcome: wake.Rang}.For(m))
		}, want: "rang birch at TIME by its terminal; birch runs; " + ringerEnded, cure: "its next prompt brings the mail; if no terminal shows it any more, end it (process PID)"},
		"c2c start was killed, and an attached pane is gone with it": {client: "kimi", do: func(w *world, birch sessions.Session, _ mail.Message) {
			if err := w.SetPane(w.t.Context(), birch.ID, "tmux:%0:/tmp/x"); err != nil {
				w.t.Fatal(err)
			}
			w.hold(wakeLock)
			w.losesBell(birch.ID)
		}, want: "birch runs; " + ringerEnded, cure: "its next prompt brings the mail; if no terminal shows it any more, end it (process PID)"},
		"c2c start was killed in a turn": {client: "kimi", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.turn(birch.ID, sessions.Busy, inbox.ByHook)
			w.losesBell(birch.ID)
		}, want: "birch is in a turn (0 s); its hook brings the message at the end of the turn"},
		"c2c start was killed, and a server rings": {client: "kimi", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.losesBell(birch.ID)
			w.hold(ringLock(birch.ID))
		}, want: "birch runs; it is about to be rung"},
		"c2c start rings": {client: "kimi", do: func(w *world, birch sessions.Session, _ mail.Message) { w.bell(birch.ID) },
			want: "birch runs; it is about to be rung"},
		"nothing types into its pane": {client: "kimi", do: func(w *world, birch sessions.Session, _ mail.Message) {
			if err := w.SetPane(w.t.Context(), birch.ID, "tmux:%0:/tmp/x"); err != nil {
				w.t.Fatal(err)
			}
		}, want: "birch runs; c2c knows of nothing that rings it: its next turn brings the message", cure: "c2c wake start"},
		"its client has not begun": {client: "copilot", start: "birch", do: func(w *world, birch sessions.Session, _ mail.Message) {}, want: "birch runs; nothing of c2c has run in its client yet", cure: "a dialog may wait in its terminal"},
		"c2c start could not set it up": {client: "kimi", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.attach(callers.Caller{Explicit: birch.ID, Client: "kimi", PID: w.pid(20), Lacks: "it has no tools"})
			w.bell(birch.ID)
			w.turn(birch.ID, sessions.Busy, inbox.ByHook)
		}, want: "birch is in a turn (0 s); it has no tools", cure: "c2c install kimi"},
		"a server of c2c runs all the same": {client: "kimi", do: func(w *world, birch sessions.Session, _ mail.Message) {
			w.attach(callers.Caller{Explicit: birch.ID, Client: "kimi", PID: w.pid(20), Lacks: "it has no tools"})
			w.bell(birch.ID)
			w.hold(sessions.ServerLock(birch.ID))
		}, want: "birch runs; it is about to be rung"},
		"nobody rings a client over HTTP": {do: func(w *world, _ sessions.Session, _ mail.Message) {
			w.attach(callers.Caller{Client: "qwen", PID: w.pid(20), Transport: sessions.TransportHTTP})
		}, want: "birch runs; nothing rings it: its next call of a tool brings the message", cure: "no stream of events"},
		"a draft": {do: func(w *world, birch sessions.Session, m mail.Message) {
			w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.ByTerminal, Outcome: wake.Uncaptured, Cause: "a draft stands in the prompt"}.For(m))
		}, want: "did not ring birch at TIME by its terminal: a draft stands in the prompt; birch runs", cure: "empty its prompt"},
		"its person's settings": {do: func(w *world, birch sessions.Session, m mail.Message) {
			w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.BySocket, Outcome: wake.Refused, Cause: "its person refuses"}.For(m))
		}, want: "did not ring birch at TIME by its messaging socket: its person refuses; birch runs", cure: "its next prompt"},
		"its socket takes the ring, and its hooks hand nothing over": {do: func(w *world, birch sessions.Session, m mail.Message) {
			w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.BySocket, Outcome: wake.Uncaptured, Cause: "no sign that it has the messages"}.For(m))
		}, want: "did not ring birch at TIME by its messaging socket: no sign that it has the messages; birch runs", cure: "it is rung again; if this stays, c2c doctor checks its hooks"},
		"no terminal": {do: func(w *world, birch sessions.Session, m mail.Message) {
			w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.ByServer, Outcome: wake.Away, Cause: "no terminal shows it"}.For(m))
		}, want: "did not ring birch at TIME by its app-server: no terminal shows it; birch is shown in no terminal (0 s); the message waits until it is back",
			cure: "register --unattended"},
		"just rung": {do: func(w *world, birch sessions.Session, m mail.Message) {
			w.turn(birch.ID, sessions.Idle, inbox.ByHook)
			w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.BySocket, Outcome: wake.Rang}.For(m))
		}, want: "rang birch at TIME by its messaging socket; birch is idle (0 s); it has been rung just now"},
		"rung in vain": {do: func(w *world, birch sessions.Session, m mail.Message) {
			w.turn(birch.ID, sessions.Idle, inbox.ByHook)
			w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.BySocket, Outcome: wake.Rang}.For(m))
			w.clock = w.clock.Add(2 * time.Minute)
		}, want: "rang birch at TIME by its messaging socket; birch is idle (2 min); nobody has read since the ring", cure: "c2c doctor"},
		"a stream rung in vain": {do: func(w *world, birch sessions.Session, m mail.Message) {
			w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.ByStream, Outcome: wake.Rang}.For(m))
			w.clock = w.clock.Add(2 * time.Minute)
		}, want: "rang birch at TIME by its event stream; birch runs; nobody has read since the ring", cure: "its next call of a tool"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.clock = time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)
			amber := w.register("amber", callers.Caller{PID: w.pid(10)})
			birch := w.register("birch", callers.Caller{Client: cmp.Or(c.client, "qwen"), Start: c.start, PID: w.pid(20)})
			c.message.To, c.message.Content, c.message.ID = "birch", "x", "m-1"
			if _, err := w.Send(t.Context(), amber, c.message); err != nil {
				t.Fatal(err)
			}
			c.do(w, birch, mail.Message{ID: "m-1", From: "amber"})
			got, cure := w.way("m-1")
			if want := "stored at 12:00:00; " + strings.ReplaceAll(c.want, "TIME", "12:00:00"); got != want {
				t.Errorf("is  %s\nnot %s", got, want)
			}
			if !strings.Contains(cure, strings.ReplaceAll(c.cure, "PID", fmt.Sprint(w.pid(20)))) || c.cure == "" && cure != "" {
				t.Errorf("one can %q, want %q", cure, c.cure)
			}
		})
	}
}

// The process of a Codex session may have other sessions, too.
func TestNobodyIsToldToEndAProcessThatMayHaveOtherSessions(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	birch := w.register("birch", callers.Caller{Client: "codex", PID: w.pid(20)})
	id := w.send(amber, "birch", "x").ID
	w.losesBell(birch.ID)
	got, do := w.way(id)
	if want := "its next prompt brings the mail; if no terminal shows it any more, open it anew with c2c start --alias birch codex"; !strings.HasSuffix(got, ringerEnded) || do != want {
		t.Errorf("%s; one can %q, want %q", got, do, want)
	}
}

func (w *world) rang(sid string, r wake.Ring) {
	w.t.Helper()
	if err := w.Rang(w.t.Context(), sid, r); err != nil {
		w.t.Fatal(err)
	}
}

func TestAStatusTellsTheWholeWay(t *testing.T) {
	w := newWorld(t)
	w.clock = time.Date(2026, 11, 22, 23, 59, 59, 0, time.Local)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	id := w.send(amber, "birch", "x").ID
	w.clock = w.clock.Add(time.Second)
	box, err := w.Mailbox(birch.ID)
	if err != nil {
		t.Fatal(err)
	}
	l, err := box.Lease(t.Context(), wake.ByPlugin, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := w.way(id); got != "stored at 2026-11-22 23:59; handed at 00:00:00 by its plugin, and its receipt has not come" {
		t.Errorf("in its plugin's hands: %s", got)
	}
	if err := l.Ack(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got, _ := w.way(id); got != "stored at 2026-11-22 23:59; handed at 00:00:00 by its plugin, which counts as read" {
		t.Errorf("read: %s", got)
	}
}
