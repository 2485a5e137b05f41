package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// A person sees the same clock in a room as in c2c outbox.
func TestAPersonReadsARoomInLocalTime(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	const zone = "TZ=Asia/Tokyo"
	k.types("c2c rooms create review && c2c send '#review' hello")
	hour := k.types("date +%H", zone)[:2]
	out := k.types("c2c rooms history review", zone)
	next := k.types("date +%H", zone)[:2] // the hour may just have ended
	if !regexp.MustCompile(`(?m)^(` + hour + `|` + next + `):\d\d:\d\d ada \(person\) `).MatchString(out) {
		t.Errorf("at %s o'clock: %s", hour, out)
	}
}

// A person can type the command of a hint as it stands.
func TestAHintAboutARoomHasItsName(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	for _, alias := range []string{"amber", "birch"} {
		k.run("register", "--session-id", alias, alias)
	}
	k.run("rooms", "create", "review", "--session-id", "amber")
	k.run("rooms", "create", "board", "--session-id", "amber")
	for _, c := range []struct{ line, hint string }{
		{"rooms create review --session-id birch", "c2c rooms join review joins it"},
		{"rooms level review quiet --session-id birch", "c2c rooms join review joins it"},
		{"send #review hello --session-id birch", "c2c rooms join review joins it"},
		{"send #review @amber,\u00a0hello --session-id birch", "c2c rooms join review joins it"},
		{"send birch#review hello --session-id amber", "c2c rooms invite review birch"},
		{"rooms invite birch review --session-id amber", "the room stands first: c2c rooms invite review birch"},
		{"rooms invite birch #review --session-id amber", "the room stands first: c2c rooms invite review birch"},
	} {
		out, err := k.try(strings.Split(c.line, " ")...)
		if err == nil || !strings.Contains(out, c.hint) || strings.Count(out, " joins it") > 1 {
			t.Errorf("c2c %s: %v: %s", c.line, err, out)
		}
	}
}

// An answer to a post goes to the room, and c2c reply says so, also about a reply that lacks its
// text.
func TestAReplyNamesTheRoomToWhichItGoes(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	for _, alias := range []string{"amber", "birch"} {
		k.run("register", "--session-id", alias, alias)
	}
	k.run("rooms", "create", "review", "--session-id", "amber")
	k.run("rooms", "invite", "review", "birch", "--session-id", "amber")
	id := regexp.MustCompile(`\b[0-9a-f]{8}\b`).FindString(k.run("send", "#review", "@birch, done?", "--session-id", "amber"))
	k.run("poll-inbox", "--session-id", "birch")
	want := "posted to #review as an answer to " + id + ": stored for 1, "
	for _, words := range [][]string{{"yes"}, {id, "yes"}} {
		if out, err := k.try(append(append([]string{"reply"}, words...), "--session-id", "birch")...); err != nil || !strings.HasPrefix(out, want) {
			t.Errorf("reply %q: %v %s, want %q", words, err, out, want)
		}
	}
	if out, err := k.try("reply", "--session-id", "birch"); err == nil || !strings.Contains(out, "such as: c2c reply 'Yes.', which posts to the room") || strings.Contains(out, "c2c post") {
		t.Errorf("without words: %v %s", err, out)
	}
}

func TestWhoIsNotInARoomIsToldSoByLeave(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	k.run("register", "--session-id", "amber", "amber")
	k.run("rooms", "create", "review", "--session-id", "amber")
	for _, want := range []string{"left review\n", "amber was not in review\n"} {
		if out := k.run("rooms", "leave", "review", "--session-id", "amber"); out != want {
			t.Errorf("%q, want %q", out, want)
		}
	}
	if out := k.types("c2c rooms archive none || true"); !strings.Contains(out, "c2c rooms list shows all rooms") {
		t.Error(out)
	}
}

// An agent that is not in a room takes it from nobody. A person at a terminal tidies up.
func TestOnlyAMemberOrAPersonArchivesARoom(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	for _, alias := range []string{"amber", "birch"} {
		k.run("register", "--session-id", alias, alias)
	}
	k.run("rooms", "create", "review", "--session-id", "amber")
	out, err := k.try("rooms", "archive", "review", "--session-id", "birch")
	if err == nil || !strings.Contains(out, "only a member, or a person at a terminal, may archive it") || !strings.Contains(out, "c2c rooms join review joins it") {
		t.Errorf("%v: %s", err, out)
	}
	k.types("c2c whoami") // makes the person's mailbox
	cmd := k.command("rooms", "archive", "review", "--session-id", fmt.Sprintf("person-%d", os.Getuid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal of the developer's
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "only a member, or a person at a terminal") {
		t.Errorf("who only claims to be a person: %v: %s", err, out)
	}
	if out := k.types("c2c rooms archive review"); !strings.HasPrefix(out, "archived review: its files are in ") {
		t.Errorf("a person archives it: %s", out)
	}
	k.run("rooms", "create", "lounge", "--session-id", "amber")
	k.run("rooms", "join", "lounge", "--session-id", "birch")
	k.run("rooms", "archive", "lounge", "--session-id", "birch")
	if out := k.run("rooms", "list", "--session-id", "amber"); !strings.HasPrefix(out, "(no rooms") {
		t.Errorf("a member archived it: %s", out)
	}
}

// What the README and the page about rooms show is typed line by line, up to the first post with an
// @: the named session, which has done nothing, is a member, and reads the post.
func TestTheRoomsOfTheDocsReachWhomTheyName(t *testing.T) {
	t.Parallel()
	bin := programs(t)
	for _, page := range []string{"README.md", "docs/rooms.md"} {
		data, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		shell := func(name, line string) string {
			t.Helper()
			cmd := exec.Command("sh", "-euc", line)
			cmd.Dir = home
			cmd.Env = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin", "C2C_MCP_SESSION_ID=" + name}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %s: %v\n%s", page, line, err, out)
			}
			return string(out)
		}
		for _, name := range []string{"dana", "amber", "birch"} {
			shell(name, "c2c register "+name)
		}
		named, begun := "", false
		for line := range strings.Lines(string(data)) {
			if begun = begun || strings.HasPrefix(line, "c2c rooms create "); !begun || !strings.HasPrefix(line, "c2c ") {
				continue
			}
			out := shell("dana", line)
			if _, text, ok := strings.Cut(line, " '@"); ok && strings.Contains(line, "'#") {
				named, _, _ = strings.Cut(text, ",")
				if want := "waits for the next turn of 1 (" + named + ")"; !strings.Contains(out, want) {
					t.Errorf("%s: %s prints %s, want %q", page, line, out, want)
				}
				if got := shell(named, "c2c poll-inbox"); !strings.Contains(got, `room="review"`) || !strings.Contains(got, "@"+named+",") {
					t.Errorf("%s: %s has %s", page, named, got)
				}
				break
			}
		}
		if named == "" {
			t.Errorf("%s names nobody in a room", page)
		}
	}
}
