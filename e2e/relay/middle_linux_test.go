package relay

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"c2c/e2e/machines"
)

// middleEnv names a directory. A test program that has it is the man in the middle between a relay
// and ssh.
const middleEnv = "C2C_RELAY_MIDDLE"

// inTheMiddle runs ssh and changes the packets both ways. It writes into the directory what it has
// done, and what it has seen.
func inTheMiddle(dir string) int {
	deeds, err := os.OpenFile(filepath.Join(dir, "deeds"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	seen, err := os.OpenFile(filepath.Join(dir, "seen"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.Command("/usr/bin/ssh", os.Args[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	out, oerr := cmd.StdoutPipe()
	if err != nil || oerr != nil || cmd.Start() != nil {
		return 1
	}
	t := machines.NewTamper(uint64(cmd.Process.Pid), 0.2)
	t.Told = func(what string) { fmt.Fprintln(deeds, what) }
	go func() {
		defer in.Close()
		pass(t, "there", bufio.NewReader(os.Stdin), in, seen)
	}()
	var back sync.WaitGroup
	back.Go(func() { pass(t, "back", bufio.NewReader(out), os.Stdout, seen) })
	back.Wait()
	if err := cmd.Wait(); err != nil {
		return 1
	}
	return 0
}

// pass copies the greeting as it is: its first line, the keys, the proofs. Then it has each packet
// changed.
func pass(t *machines.Tamper, direction string, r *bufio.Reader, w io.Writer, seen io.Writer) {
	for {
		line, err := r.ReadString('\n')
		if _, werr := io.WriteString(w, line); err != nil || werr != nil {
			return
		}
		if strings.HasPrefix(line, "c2c relay over ssh") {
			break
		}
	}
	for n := 0; ; n++ {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return
		}
		packet := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(r, packet); err != nil {
			return
		}
		all := [][]byte{packet}
		if n > 1 {
			seen.Write(packet)
			all = t.Packet(direction, packet)
		}
		for _, p := range all {
			if _, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...)); err != nil {
				return
			}
		}
	}
}

// A program between the relay and ssh, which can read and change all that ssh carries.
func TestAManBetweenTheRelayAndSSHChangesAndReadsNothing(t *testing.T) {
	n := connect(t)
	n.pair()
	capture := n.Capture(n.laptop)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	n.laptop.C2C("relay", "stop")
	n.laptop.Through("env " + middleEnv + "=" + dir + " " + self)
	n.laptop.C2C("relay", "start")
	var want, back []string
	for i := range 120 {
		n.laptop.Put("birch@devbox", fmt.Sprint("there-", i), fmt.Sprint("secret words ", i))
		n.devbox.Put("amber@laptop", fmt.Sprint("back-", i), fmt.Sprint("secret words ", i))
		want, back = append(want, fmt.Sprint("amber@laptop: secret words ", i)), append(back, fmt.Sprint("birch@devbox: secret words ", i))
		if i == 0 {
			n.laptop.C2C("daemon", "want")
			n.devbox.C2C("daemon", "want")
		}
		n.Until("most of it arrives", func() bool { return n.devbox.Pending() > i-8 && n.laptop.Pending() > i-8 }) // not all in one packet
	}
	n.devbox.Expect(want...)
	n.laptop.Expect(back...)
	n.Until("the receipts come", func() bool { return !n.laptop.Waits("host-devbox") && !n.devbox.Waits("host-laptop") })
	for _, m := range []*machines.Machine{n.laptop, n.devbox} {
		if words := m.Trouble(); words != "" {
			t.Errorf("%s is told %q", m.Name, words)
		}
	}
	deeds, _ := os.ReadFile(filepath.Join(dir, "deeds"))
	for _, deed := range machines.Deeds {
		count := strings.Count(string(deeds), deed+"\n")
		t.Logf("%s: %d", deed, count)
		if count == 0 {
			t.Errorf("it did no %s", deed)
		}
	}
	seen, _ := os.ReadFile(filepath.Join(dir, "seen"))
	for _, word := range []string{"secret words", "amber", "birch", "there-"} {
		if bytes.Contains(seen, []byte(word)) || bytes.Contains(capture.Bytes(), []byte(word)) {
			t.Errorf("it reads %q", word)
		}
	}
	if len(seen) == 0 || len(capture.Bytes()) == 0 {
		t.Errorf("%d bytes of packets were seen, and %d on the cable", len(seen), len(capture.Bytes()))
	}
}
