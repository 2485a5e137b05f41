package procstat

import (
	"errors"
	"testing"
)

func TestANameIsNoField(t *testing.T) {
	const rest = " S 10 11 12 34816 13 0 0 0 0 0 0 0 0 0 0 0 0 0 777 0"
	want := Stat{Parent: 10, Group: 11, Session: 12, Terminal: 34816, Foreground: 13, Start: 777}
	for _, name := range []string{"(sh)", "(a) Z 1 (b)", "(x\n) S 1 2"} {
		if got, err := parse(1, "1 "+name+")"+rest); err != nil || got != want {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
}

func TestWhatIsNoProcess(t *testing.T) {
	if _, err := parse(1, "1 (sh) Z 10 11 12 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 777"); !errors.Is(err, ErrNone) {
		t.Errorf("a zombie: %v", err)
	}
	if _, err := Read(1 << 30); !errors.Is(err, ErrNone) {
		t.Errorf("an id that cannot be: %v", err)
	}
	for _, stat := range []string{"", "1 (sh) S 10", "1 (sh) S x 11 12 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 777"} {
		if _, err := parse(1, stat); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", stat, err)
		}
	}
}
