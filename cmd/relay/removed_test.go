package relay

import (
	"strings"
	"testing"

	"c2c/broker"
	"c2c/inbox/mail"
)

func TestMailForARemovedMachineSaysThatItIsNotPaired(t *testing.T) {
	for does, words := range map[string]string{"remove": "devbox is removed", "revoke": "devbox is revoked"} {
		laptop, devbox := twoMachines(t)
		here := laptop.project("site", "amber")
		sent := laptop.send(here, "amber", "birch@devbox", "hello", mail.Message{})
		out, err := person(t, laptop.home, does, "devbox")
		if err != nil || !strings.Contains(out, words) || !strings.Contains(out, "1 message waits for it here") {
			t.Errorf("%s: %v\n%s", does, err, out)
		}
		st, err := here.Status(t.Context(), sent.ID)
		if err != nil || !strings.Contains(st.Why, "devbox is not paired any more") || !strings.Contains(st.Do, "c2c relay add") {
			t.Errorf("%s: %q, %q, %v", does, st.Why, st.Do, err)
		}
		if does == "revoke" {
			continue
		}
		laptop.pair(devbox, devbox.key(), true)
		if st, err := here.Status(t.Context(), sent.ID); err != nil || strings.Contains(st.Why, "not paired") {
			t.Errorf("paired again: %q, %v", st.Why, err)
		}
	}
}

// The relay runs, but ssh fails: c2c relay status shows what it says.
func TestMailForAMachineWithoutALinkSaysWhereTheReasonIs(t *testing.T) {
	laptop, _ := twoMachines(t)
	here := laptop.project("site", "amber")
	sent := laptop.send(here, "amber", "birch@devbox", "hello", mail.Message{})
	laptop.run()
	laptop.until(here, "the relay has the mail", func() bool { return laptop.host(here, "devbox").Dials })
	st, err := here.Status(t.Context(), sent.ID)
	if err != nil || st.Why != "devbox was not reached yet" || !strings.Contains(st.Do, "c2c relay status shows") {
		t.Errorf("%q, %q, %v", st.Why, st.Do, err)
	}
	if all, err := here.Hosts(); err != nil || len(all) != 1 || broker.HostSentence(all[0].HeardHost, laptop.now()) != st.Why {
		t.Errorf("the list has %+v, %v", all, err)
	}
}
