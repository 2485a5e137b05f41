package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

// rung are the clients of the ring that c2c wakes from outside.
func rung() []link {
	return slices.DeleteFunc(slices.Clone(ring), func(is link) bool { return is.asked })
}

// roomLab starts the clients as members of the room review, and waits until all are idle. dana is a
// member that no client has.
func roomLab(t *testing.T, env map[string]string, all []link, answer func(i int) func(*lab.Request) (lab.Reply, bool)) (l *lab.Lab, models []*lab.Model, procs []*lab.Proc) {
	l = newLab(t)
	for name, value := range env {
		l.Setenv(name, value)
	}
	l.Run(c2c(), "register", "dana", "--session-id", "dana")
	l.Run(c2c(), "rooms", "create", "review", "--from", "dana")
	for _, is := range all {
		model := lab.NewModel(t)
		models = append(models, model)
		is.seed(l, model)
		l.Run(c2c(), "install", string(is.client))
	}
	l.TrustCodexHooks()
	for i, is := range all {
		then := answer(i)
		models[i].Answer(func(r *lab.Request) (lab.Reply, bool) {
			if !called(r, "me") {
				return register(is.client, memberOf(is)), true
			}
			return then(r)
		})
		p := is.start(l, models[i])
		procs = append(procs, p)
		p.Submit("take your name")
		p.WaitShown("Registered.")
		switch is.client {
		case lab.Claude:
			claudeIdle(l, models[i])
		case lab.Codex:
			codexIdle(l, 1)
		case lab.Qwen:
			hooksSayIdle(l, memberOf(is))
		case lab.Copilot:
			copilotIdle(p)
		}
		l.Run(c2c(), "rooms", "join", "review", "--from", memberOf(is))
	}
	return l, models, procs
}

func memberOf(is link) string { return "at-" + string(is.client) }

// A post costs the idle clients nothing, and a mention costs one of them one request. A client that
// nothing wakes has both with its person's next prompt.
func TestARoomWakesOnlyWhomAPostNames(t *testing.T) {
	t.Parallel()
	l, models, procs := roomLab(t, nil, ring, func(int) func(*lab.Request) (lab.Reply, bool) {
		return func(r *lab.Request) (lab.Reply, bool) {
			if len(r.Find("look, please")) > 0 {
				return lab.Say("Noted."), true
			}
			return lab.Say("Registered."), true
		}
	})
	var before []int
	for _, m := range models {
		before = append(before, len(m.Turns()))
	}
	l.Run("sh", "-c", "for i in $(seq 100); do "+c2c()+" send '#review' ambient-$i --from dana >/dev/null || exit 1; done")
	for n, is := range ring {
		out := l.Run(c2c(), "send", memberOf(is)+"#review", "look, please", "--from", "dana")
		want := fmt.Sprintf("stored for %d, wakes 1 (%s)", len(models), memberOf(is))
		if is.asked {
			want = fmt.Sprintf("stored for %d, wakes 0, waits for the next turn of 1 (%s)", len(models), memberOf(is))
			procs[n].Submit("anything new")
		}
		if !strings.HasPrefix(out, want) {
			t.Errorf("%s, want %s", out, want)
		}
		seen := models[n].WaitText("look, please")
		if is.client == lab.Codex {
			once(t, seen, "new posts in your rooms") // a developer's message, which may have no post
		}
		if slices.Contains([]lab.Client{lab.Claude, lab.OpenCode, lab.Copilot}, is.client) {
			if text := fmt.Sprint(seen.Items); !strings.Contains(text, "ambient-100") || !strings.Contains(text, " more: look posts") {
				t.Errorf("%s has no digest beside it: %.3000s", is.client, text)
			}
		}
		for i, m := range models {
			want := before[i]
			if i <= n {
				want++
			}
			if got := len(m.Turns()); got != want {
				t.Errorf("when %s was named, %s had %d requests, want %d", is.client, ring[i].client, got, want)
			}
		}
	}
	// Who joins late sees what was posted when it asks, and nobody is asked for that.
	l.Run(c2c(), "register", "late", "--session-id", "late")
	if out := l.Run(c2c(), "rooms", "join", "review", "--history", "20", "--from", "late"); !strings.Contains(out, "old posts") || !strings.Contains(out, "ambient-100") {
		t.Errorf("%s", out)
	}
	for i, m := range models {
		if got := len(m.Turns()); got != before[i]+1 {
			t.Errorf("%s has had %d requests at the end, want %d", ring[i].client, got, before[i]+1)
		}
	}
}

// Five models that always answer each other are stopped, and their person is told once.
func TestARingOfFiveInARoomIsStopped(t *testing.T) {
	t.Parallel()
	const limit = 7
	all := rung()
	l, _, _ := roomLab(t, map[string]string{"C2C_ROOM_WAKES": fmt.Sprint(limit)}, all, func(i int) func(*lab.Request) (lab.Reply, bool) {
		next := memberOf(all[(i+1)%len(all)])
		return func(r *lab.Request) (lab.Reply, bool) {
			had, sent := map[string]bool{}, 0
			for _, item := range r.Items {
				if item.Role == "assistant" && strings.HasSuffix(item.Name, "send") {
					sent++
				}
				if item.Role != "assistant" {
					for _, id := range roundOf.FindAllString(item.Text, -1) {
						had[id] = true
					}
				}
			}
			if len(had) <= sent {
				return lab.Say("Registered."), true
			}
			return lab.CallMCP(all[i].client, "c2c", "send", map[string]any{"to_alias": next + "#review", "content": fmt.Sprintf("round-%d-of-%d", sent+1, i)}), true
		}
	})
	l.Run(c2c(), "send", memberOf(all[0])+"#review", "round-0-of-9", "--from", "dana")
	const told = `cat ~/.c2c/repos/*/broker/person-*.inbox.json`
	l.WaitUntil("notice to the person", func() bool {
		text, err := l.Try("sh", "-c", told)
		return err == nil && strings.Contains(text, "woken each other")
	})
	if text := l.Run("sh", "-c", told); strings.Count(text, "woken each other") != 1 {
		t.Errorf("the person was told %s", text)
	}
	history := l.Run("sh", "-c", "cat ~/.c2c/repos/*/broker/rooms/review/history.jsonl")
	if n := strings.Count(history, `"to_sessions"`); n != limit {
		t.Errorf("%d posts have woken somebody, want %d:\n%s", n, limit, history)
	}
}

var roundOf = regexp.MustCompile(`round-\d+-of-\d`)

// joinsAndPosts makes amber a member of a room in which birch then posts, and gives the word of the
// post.
func joinsAndPosts(l *lab.Lab) (word string) {
	l.Run(c2c(), "rooms", "create", "review", "--from", "birch")
	l.Run(c2c(), "rooms", "join", "review", "--from", "amber")
	does(l, "amber", sessions.Idle)
	return posts(l, "ambient-one")
}

func posts(l *lab.Lab, word string) string {
	l.Run(c2c(), "send", "#review", word, "--from", "birch")
	return word
}

// A post wakes nobody. The person's next prompt brings it, or else the mail that begins a turn, and
// each post comes once.
func TestOpenCodeHasTheNewPostsOfARoomWithAPromptAndWithMail(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	first := joinsAndPosts(l)
	model.Script(lab.Say("Answered."), lab.Say("Woken."), lab.Say("Answered again."))
	p.Submit("prompt-two")
	p.WaitShown("Answered.")
	does(l, "amber", sessions.Idle)
	second := posts(l, "ambient-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	p.WaitShown("Woken.")
	does(l, "amber", sessions.Idle)
	p.Submit("prompt-three")
	p.WaitShown("Answered again.")
	for request, words := range map[string]string{"prompt-two": first, "word-meanwhile": second} {
		once(t, model.WaitText(request), words)
	}
	onlyOnce(t, model.Turns(), first, "user")
	onlyOnce(t, model.Turns(), second, "user")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	if strings.Contains(p.Screen(), "ambient-") {
		t.Errorf("its person sees posts as an own prompt:\n%s", p.Screen())
	}
}

// The mail that begins a turn brings the posts. With a prompt the client shows only words of c2c,
// which say that there are some.
func TestCopilotHasTheNewPostsOfARoomWithMail(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, nil)
	first := joinsAndPosts(l)
	const announced = "new posts in your rooms"
	model.Script(lab.Say("Woken."), lab.Say("Woken again."), lab.Say("Answered."), copilotTool("poll_inbox", map[string]any{}), lab.Say("Polled."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	p.WaitShown("Woken.")
	does(l, "amber", sessions.Idle)
	second := posts(l, "ambient-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "later"))
	p.WaitShown("Woken again.")
	does(l, "amber", sessions.Idle)
	p.Submit("prompt-two")
	p.WaitShown("Answered.")
	for request, words := range map[string]string{"word-meanwhile": first, "word-later": second} {
		once(t, model.WaitText(request), words)
	}
	onlyOnce(t, model.Turns(), first, "user")
	onlyOnce(t, model.Turns(), second, "user")
	wantRead(t, l, "id-later", "read by plugin")
	if r := model.WaitText("prompt-two"); len(r.Find(announced)) > 0 {
		t.Errorf("posts that came with mail are announced in\n%s", r)
	}
	does(l, "amber", sessions.Idle)
	third := posts(l, "ambient-three")
	p.Submit("prompt-three")
	p.WaitShown("Polled.")
	once(t, model.WaitText("prompt-three"), announced)
	onlyOnce(t, model.Turns(), third, "tool")
}
