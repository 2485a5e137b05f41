package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// holder is a program that holds the mailbox's lock until two senders wait for it, but at most for
// half a second.
const holder = `
import fcntl, glob, sys, time
with open(sys.argv[1] + "/amber.inbox.lock", "a") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    print("held", flush=True)
    end = time.time() + 0.5
    while time.time() < end and len(glob.glob(sys.argv[1] + "/amber.lease/.queued-*")) < 2:
        time.sleep(0.002)
`

// otherBody is the text of the second sender's message. That sender gets no fault.
const otherBody = "other"

// crowds are scenarios in which a second sender works beside the sender that gets the fault. Either
// of them may store the messages of both.
func crowds() []*scenario {
	s := &scenario{name: "send, beside another", as: "birch", command: []string{"c2c", "send", "amber", "--id", "new", newBody},
		prepare: waits(2, 100)}
	s.beside = func(p *place) (func() error, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		lock := p.command(ctx, "", "", "python3", "-c", holder, p.path("root"))
		out, err := lock.StdoutPipe()
		if err == nil {
			err = lock.Start()
		}
		if err == nil {
			_, err = bufio.NewReader(out).ReadString('\n')
		}
		other := p.command(ctx, "birch", "", p.program([]string{"c2c", "send", "amber", "--id", "other", otherBody})...)
		other.Stderr = os.Stderr
		if err == nil {
			err = other.Start()
		}
		if err != nil {
			cancel()
			return nil, err
		}
		return func() error {
			defer cancel()
			return errors.Join(lock.Wait(), other.Wait())
		}, nil
	}
	s.check = func(v *verdict) { s.checkCrowd(v) }
	return []*scenario{s}
}

// checkCrowd checks that the second sender's message is stored once, whatever happens to the first
// sender's message.
func (s *scenario) checkCrowd(v *verdict) {
	if v.run.beside != nil {
		v.wrong("the other sender: %v", v.run.beside)
	}
	other, sent := letter{"other", otherBody}, letter{"new", newBody}
	now := v.waiting("amber")
	refused := append(slices.Clone(v.mail), other)
	first, second := append(slices.Clone(refused), sent), append(slices.Clone(v.mail), sent, other)
	whole := slices.Equal(now, first) || slices.Equal(now, second)
	if v.run.code == 0 && !v.run.killed && !whole {
		v.same("acknowledged, but waiting", now, first)
	} else if !whole {
		v.same("waiting after a failed send", now, refused)
	}
	v.must(s.as, s.command...)
	after := v.waiting("amber")
	if !slices.Equal(after, first) && !slices.Equal(after, second) {
		v.wrong("waiting after a retry: %s", fmt.Sprint(ids(after)))
	}
	v.settled(s, "amber", "amber", after, after)
}
