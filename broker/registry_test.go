package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestEachDamagedRegistryIsKept(t *testing.T) {
	w := newWorld(t)
	kept := map[string]string{}
	for _, text := range []string{`[{"one"`, `[{"two"`} {
		w.writeRegistry(text)
		_, err := w.Attach(context.Background(), Caller{Client: "gem"})
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) {
			t.Fatalf("%s: %v", text, err)
		}
		kept[corrupt.Aside] = text
		w.clock = w.clock.Add(time.Millisecond)
	}
	for name, want := range kept {
		if got := w.file(name); got != want || len(kept) != 2 {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}

// fill registers sessions until the registry takes no more.
func fill(w *world) (last Session, err error) {
	for i := 0; ; i++ {
		s, err := w.Register(context.Background(), Caller{Explicit: fmt.Sprint("s", i)}, fmt.Sprint("alias-", i))
		if err != nil {
			return last, err
		}
		last = s
		if i == 0 { // one row that nearly fills it: a thousand registrations take a second
			w.writeRegistry(strings.Replace(w.file(registryFile), `}`, `,"role":"`+strings.Repeat("x", registryMax-500)+`"}`, 1))
		}
	}
}

func TestAFullRegistryStillCarriesMailAndIsSwept(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	last, err := fill(w)
	if !errors.Is(err, ErrRegistryFull) || !strings.Contains(err.Error(), "c2c sweep") || len(w.file(registryFile)) > registryMax {
		t.Fatalf("%v; the registry has %d bytes", err, len(w.file(registryFile)))
	}
	w.send(last, "alias-0", "x")
	w.wantMail("s0", "x")
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := w.Sweep(ctx, time.Hour); err != nil || len(swept.Sessions) < 2 {
		t.Fatalf("swept %d, %v", len(swept.Sessions), err)
	}
	w.register("birch", Caller{PID: 20})
}

// The original writes a registry of any size, and reads it as empty when it is too large.
func TestARegistryThatIsTooLargeMayShrink(t *testing.T) {
	w := newWorld(t)
	role := strings.Repeat("x", registryMax)
	w.writeRegistry(`[{"session_id":"s1","alias":"amber","registered_at":1.0},{"session_id":"s2","alias":"birch","client_type":"human","role":"` + role + `"}]`)
	if swept, err := w.Sweep(context.Background(), time.Hour); err != nil || len(swept.Sessions) != 1 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if got := w.file(registryFile); strings.Contains(got, "amber") || !strings.Contains(got, "birch") {
		t.Errorf("the registry is %.80s", got)
	}
}

// A root that is used every day has its 64 KiB full of sessions that have ended, and still takes a new one.
func TestAFullRegistryForgetsTheLongestAbsent(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	rows := []string{
		`{"session_id":"mail","alias":"mail","registered_at":1.0,"pid":77,"pid_start_time":1}`,
		`{"session_id":"person","alias":"person","client_type":"human","registered_at":1.0,"pid":77,"pid_start_time":1}`,
		`{"session_id":"unknown","alias":"unknown","registered_at":1.0}`,
		`{"session_id":"alive","alias":"alive","registered_at":1.0,"pid":10,"pid_start_time":1}`,
	}
	size := 0
	for i := 0; size < registryMax-len(rows[0])-600; i++ {
		rows = append(rows, fmt.Sprintf(`{"session_id":"s%d","alias":"s%[1]d","registered_at":%d.0,"pid":77,"pid_start_time":1}`, i, 1000+i))
		size += len(rows[len(rows)-1]) + 2
	}
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
	alive := Session{ID: "alive", Alias: "alive"}
	w.send(alive, "mail", "x")

	last := fmt.Sprint("s", len(rows)-5)
	for i := range 20 {
		w.register(fmt.Sprint("new-", i), Caller{Explicit: fmt.Sprint("n", i), PID: 20})
	}
	left := w.file(registryFile)
	for _, alias := range []string{"mail", "person", "unknown", "alive", "new-0", "new-19", last} {
		if !strings.Contains(left, fmt.Sprintf(`"alias":%q`, alias)) {
			t.Errorf("%s is forgotten", alias)
		}
	}
	if strings.Contains(left, `"alias":"s0"`) || len(left) > registryMax {
		t.Errorf("the longest absent is there, in %d bytes", len(left))
	}
	w.wantMail("mail", "x")
	if _, err := w.Resolve(ctx, Caller{Explicit: "s0"}); !errors.Is(err, ErrNoSession) {
		t.Errorf("s0: %v", err)
	}
}
