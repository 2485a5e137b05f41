package screen

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"c2c/wake"
)

// desk is a terminal that takes everything. Its prompt shows one thing after the other.
type desk struct {
	shows  []func() (string, error)
	enters int
}

func (*desk) Idle(context.Context) error                      { return nil }
func (*desk) Look(_ context.Context, see func(*Screen)) error { see(nil); return nil }
func (*desk) Wait(ctx context.Context) error                  { return ctx.Err() }
func (*desk) Paste(context.Context, string) error             { return nil }
func (d *desk) Enter(context.Context) error                   { d.enters++; return nil }

func (d *desk) prompt(*Screen) (string, error) {
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
			d := &desk{shows: []func() (string, error){empty, line, c.then, empty}}
			err := Type(t.Context(), d, d.prompt, "the line", time.Second)
			if d.enters != c.enters || (err == nil) != (c.enters == 1) || err != nil && !errors.Is(err, wake.ErrUncaptured) {
				t.Errorf("%s: %d times Enter, %v", name, d.enters, err)
			}
		})
	}
}
