package terminal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"c2c/wake"
)

// desk is a terminal that takes everything. Its prompt shows one thing after the other.
type screenDesk struct {
	shows  []func() (string, error)
	enters int
}

func (*screenDesk) Idle(context.Context) error                      { return nil }
func (*screenDesk) Look(_ context.Context, see func(*Screen)) error { see(nil); return nil }
func (*screenDesk) Wait(ctx context.Context) error                  { return ctx.Err() }
func (*screenDesk) Paste(context.Context, string) error             { return nil }
func (d *screenDesk) Enter(context.Context) error                   { d.enters++; return nil }

func (d *screenDesk) prompt(*Screen) (string, error) {
	show := d.shows[0]
	d.shows = d.shows[1:]
	return show()
}

// A client may need a moment behind a paste. What happens in that moment is looked at once more.
func TestWhatHappensBetweenThePasteAndEnterIsSeen(t *testing.T) {
	empty := func() (string, error) { return "", nil }
	line := func() (string, error) { return "the line", nil }
	for name, c := range map[string]struct {
		then   func() (string, error)
		enters int
	}{
		"nothing":          {line, 1},
		"a dialog":         {func() (string, error) { return "", errMenu }, 0},
		"somebody's words": {func() (string, error) { return "the line and more", nil }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &screenDesk{shows: []func() (string, error){empty, line, c.then, empty}}
			err := Type(t.Context(), d, d.prompt, "the line", time.Second)
			if d.enters != c.enters || (err == nil) != (c.enters == 1) || err != nil && !errors.Is(err, wake.ErrUncaptured) {
				t.Errorf("%s: %d times Enter, %v", name, d.enters, err)
			}
		})
	}
}

// A status shows the error to a person, who has to look at the terminal.
func TestWhereNoPromptIsAPersonIsToldOfADialog(t *testing.T) {
	d := &screenDesk{shows: []func() (string, error){func() (string, error) { return Prompt(gemini, recorded(t, "gemini-dialog")) }}}
	err := Type(t.Context(), d, d.prompt, "the line", time.Second)
	want := "client does not take a ring now: a dialog may wait in its terminal, such as whether you trust the folder"
	if !errors.Is(err, wake.ErrHeld) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A notice that a client has kept is sent, whatever mail it was for. What only begins or ends like
// one is somebody's draft.
func TestANoticeThatStayedInThePromptIsSent(t *testing.T) {
	now := wake.Notice{Count: 2, From: []string{"amber", "birch"}}
	line := now.Text(now.What())
	earlier := wake.Notice{Count: 11, From: []string{"cedar"}}
	bare := wake.Notice{Count: 1, From: []string{"amber"}, NoTool: true}
	for name, c := range map[string]struct {
		draft, line string
		enters      int
	}{
		"the same":              {line, line, 1},
		"for earlier mail":      {earlier.Text(earlier.What()), line, 1},
		"in a narrow prompt":    {strings.ReplaceAll(earlier.Text(earlier.What()), " ", "\n  "), line, 1},
		"without a tool":        {bare.Text(bare.What()), line, 1},
		"of nobody with a name": {wake.Notice{Count: 3}.Text(wake.Poll), line, 1},
		"words behind it":       {earlier.Text(earlier.What()) + " and the tests", line, 0},
		"words before it":       {"run " + earlier.Text(earlier.What()), line, 0},
		"two of them":           {line + line, line, 0},
		"other words in it":     {earlier.Text("delete the tests"), line, 0},
		"no alias":              {`<c2c event="message_pending" count="1" from="a b;c">` + wake.Poll + "</c2c>", line, 0},
		"half of it":            {line[:len(line)/2], line, 0},
		"in place of a message": {line, "a message that is typed whole", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			empty := func() (string, error) { return "", nil }
			d := &screenDesk{shows: []func() (string, error){func() (string, error) { return c.draft, nil }, empty}}
			err := Type(t.Context(), d, d.prompt, c.line, time.Second)
			if d.enters != c.enters || (err == nil) != (c.enters == 1) || err != nil && !errors.Is(err, wake.ErrHeld) {
				t.Errorf("%s: %d times Enter, %v", name, d.enters, err)
			}
		})
	}
}
