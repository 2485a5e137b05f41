package rooms

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
)

func (w *world) found(s sessions.Session, limit int, words ...string) string {
	w.t.Helper()
	all, err := SearchPosts(w.t.Context(), w.Broker, s, words, limit)
	if err != nil {
		w.t.Error(err)
	}
	return listOf(all)
}

func listOf(all []broker.Mail) string {
	var lines []string
	for _, m := range all {
		lines = append(lines, m.From+" to "+m.To+": "+m.Content+" ("+m.Status.State+")")
	}
	return strings.Join(lines, "\n")
}

func TestASearchFindsMailAndPosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch, cedar, person := w.session("amber"), w.session("birch"), w.session("cedar"), w.person()
	if _, err := w.Send(t.Context(), amber, mail.Message{To: "birch", Content: "The Build is green"}); err != nil {
		t.Fatal(err)
	}
	if got := w.found(amber, 9, "build"); got != "amber to birch: The Build is green (queued)" {
		t.Errorf("without rooms: %s", got)
	}
	if r, err := StoreOf(w.Registry).Create(t.Context(), "board", "amber", true); err != nil {
		t.Fatal(err)
	} else {
		r.Close()
	}
	w.join("board", amber)
	w.join("review", amber, birch)
	w.clock = w.clock.Add(time.Second)
	w.post(amber, "the build fails, @birch")
	w.clock = w.clock.Add(time.Second)
	w.draft(amber, Draft{Room: "board", Message: mail.Message{Content: "a private build"}})
	const private, post, message = "amber to #board: a private build (posted)", "amber to #review: the build fails, @birch (posted)", "amber to birch: The Build is green (queued)"
	for _, c := range []struct {
		who   sessions.Session
		limit int
		words []string
		want  string
	}{
		{amber, 9, []string{"BUILD"}, private + "\n" + post + "\n" + message},
		{amber, 2, []string{"build"}, private + "\n" + post},
		{birch, 9, []string{"build"}, post + "\n" + message},
		{cedar, 9, []string{"build"}, post},
		{cedar, 9, []string{"amber", "#review"}, post},
		{cedar, 9, []string{"private"}, ""},
		{person, 9, []string{"build", "a"}, post + "\n" + message},
	} {
		if got := w.found(c.who, c.limit, c.words...); got != c.want {
			t.Errorf("%s looks for %q:\n%s\nwant\n%s", c.who.Alias, c.words, got, c.want)
		}
	}
}

func TestADamagedHistoryCostsTheSearchItsDamagedLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber := w.session("amber")
	w.join("review", amber)
	w.join("tests", amber)
	w.post(amber, "one build")
	history := filepath.Join(w.Root(), "rooms", "review", "history.jsonl")
	f, err := os.OpenFile(history, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"ts":"no","from_alias":"<b>\nx","content":"another build, \u00c4rger"}` + "\nbuild\n" + `{"from_alias":"amber"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got, want := w.found(amber, 9, "build"), "amber to #review: one build (posted)\n(unknown) to #review: another build, Ärger (posted)"; got != want {
		t.Errorf("%s", got)
	}
	if got, want := w.found(amber, 9, "ärger", "review", "build"), "(unknown) to #review: another build, Ärger (posted)"; got != want {
		t.Errorf("%s", got)
	}
	// A room that is unreadable is named, and the others are searched.
	w.draft(amber, Draft{Room: "tests", Message: mail.Message{Content: "the last build"}})
	if err := os.Remove(history); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(history, 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := SearchPosts(t.Context(), w.Broker, amber, []string{"build"}, 9)
	if got := listOf(all); err == nil || !strings.Contains(err.Error(), "review") || got != "amber to #tests: the last build (posted)" {
		t.Errorf("%s, %v", got, err)
	}
}
