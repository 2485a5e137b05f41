// Command powercut tests that an acknowledged message survives a power cut. A round makes a file
// system in a file, and lets many processes send and read mail on it. Then it shuts the file system
// down without flushing its log, so that all data that was not on the disk is lost, as in a power
// cut. It mounts the file system again and looks for every message that a send has acknowledged:
//
//	powercut [-rounds 50] [-fs ext4,xfs] <directory of c2c>
//
// It needs root, for mounts in a namespace of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"c2c/broker"
	"c2c/e2e/scratch"
)

const (
	senders  = 4
	shortest = 150 * time.Millisecond // from the first send to the cut
	longest  = 600 * time.Millisecond
	lifetime = 100 * time.Millisecond // the longest time that a client lives
)

func main() {
	rounds := flag.Int("rounds", 50, "power cuts on each file system")
	systems := flag.String("fs", "ext4,xfs", "file systems")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: powercut [-rounds 50] [-fs ext4,xfs] <directory of c2c>")
		os.Exit(2)
	}
	if os.Geteuid() != 0 {
		fmt.Println("powercut: skipped: it mounts file systems, and needs root for that")
		return
	}
	if os.Getenv("C2C_POWERCUT_NAMESPACE") == "" {
		os.Exit(inNamespace())
	}
	if err := run(flag.Arg(0), strings.Split(*systems, ","), *rounds); err != nil {
		fmt.Fprintf(os.Stderr, "powercut: %v\n", err)
		os.Exit(1)
	}
}

// inNamespace runs this program again in a mount namespace of its own. A file system that is also
// mounted in another namespace could not be unmounted.
func inNamespace() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), "C2C_POWERCUT_NAMESPACE=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "powercut: %v\n", err)
		return 1
	}
	return 0
}

func run(bin string, systems []string, rounds int) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// This process waits for the processes that a killed client had started, because they keep the
	// disk busy.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper: %w", err)
	}
	c2c, err := filepath.Abs(filepath.Join(bin, "c2c"))
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "c2c-powercut-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	for _, system := range systems {
		if _, err := exec.LookPath("mkfs." + system); err != nil {
			fmt.Printf("powercut: %s: skipped: mkfs.%[1]s is not installed\n", system)
			continue
		}
		d := disk{scratch.Disk{System: system, Image: filepath.Join(home, system+".img"), Dir: filepath.Join(home, system)}, c2c}
		if err := d.rounds(rounds); err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
	}
	return nil
}

// disk is a file system with a home of c2c.
type disk struct {
	scratch.Disk
	c2c string
}

func (d disk) rounds(n int) error {
	if err := os.Mkdir(d.Dir, 0o700); err != nil {
		return err
	}
	acked, lost, broken := 0, 0, 0
	for i := range n {
		a, l, b, err := d.round()
		if err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
		acked, lost, broken = acked+a, lost+l, broken+b
		if (i+1)%10 == 0 || i+1 == n {
			fmt.Printf("powercut: %s: %d cuts, %d acknowledged, %d lost, %d unreadable\n", d.System, i+1, acked, lost, broken)
		}
	}
	if lost+broken > 0 {
		return fmt.Errorf("%d messages lost, %d files unreadable", lost, broken)
	}
	return nil
}

// round makes one power cut. It returns how many messages were acknowledged, how many of them are
// lost, and how many files are unreadable.
func (d disk) round() (acked, lost, broken int, err error) {
	if err := d.Make(); err != nil {
		return 0, 0, 0, err
	}
	if err := d.Mount(); err != nil {
		return 0, 0, 0, err
	}
	ids, err := d.sendUntilCut()
	if uerr := d.Unmount(); err == nil {
		err = uerr
	}
	if err != nil {
		return 0, 0, 0, err
	}
	if err := d.Mount(); err != nil { // replays the log
		return 0, 0, 0, err
	}
	lost, broken, err = d.check(ids)
	if uerr := d.Unmount(); err == nil {
		err = uerr
	}
	return len(ids), lost, broken, err
}

// The disk has two projects of one user.
const (
	front = "aaaaaaaaaaaa"
	shop  = "bbbbbbbbbbbb"
)

func (d disk) home() scratch.Home {
	return scratch.Home{C2C: d.c2c, Dir: d.Dir, Project: front}
}

func (d disk) shop() scratch.Home {
	return scratch.Home{C2C: d.c2c, Dir: d.Dir, Project: shop}
}

// sendUntilCut returns the acknowledged messages, as "sender/id" in the mailbox of the receiver. One
// third of the messages go to an alias that one client takes over from the other, one third to the
// other project.
func (d disk) sendUntilCut() (acked []string, err error) {
	for _, name := range []string{"amber", "birch"} {
		if err := d.home().Run(name, "register", name); err != nil {
			return nil, err
		}
	}
	if err := d.home().FirstClient(); err != nil {
		return nil, err
	}
	if err := d.shop().Run("coral", "register", "coral"); err != nil {
		return nil, err
	}
	b, err := broker.Open(broker.Config{Root: d.shop().Root()})
	if err == nil { // c2c project allow needs a person at a terminal
		err = errors.Join(broker.AllowProject(b, d.home().Root(), true), b.Close())
	}
	if err != nil {
		return nil, err
	}
	receivers := []struct{ alias, sender string }{{"amber", "birch"}, {scratch.Moving, "birch"}, {"coral@" + shop, "birch@" + front}}
	ctx, cut := context.WithCancel(context.Background())
	var dark atomic.Bool
	var mu sync.Mutex
	var all sync.WaitGroup
	for who := range senders {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				id, to := fmt.Sprintf("s%d-%d", who, n), receivers[(who+n)%len(receivers)]
				if d.home().Send("birch", to.alias, id).Run() == nil && !dark.Load() {
					mu.Lock()
					acked = append(acked, to.sender+"/"+id)
					mu.Unlock()
				}
			}
		})
	}
	for name, home := range map[string]scratch.Home{"amber": d.home(), "coral": d.shop()} {
		all.Go(func() {
			for ctx.Err() == nil {
				home.Command(ctx, name, "poll-inbox", "--wait=20ms").Run()
			}
		})
	}
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			d.home().Client(fmt.Sprintf("client-%d", n), rand.N(lifetime))
		}
	})
	time.Sleep(shortest + rand.N(longest-shortest))
	// A send that succeeds after the power is off proves nothing, because nobody could see it. XFS
	// goes on after it has dropped its log, and then reports that a directory is synced although it
	// has just lost the change.
	dark.Store(true)
	err = d.Cut()
	cut()
	all.Wait()
	return acked, err
}

// check reads the remaining mail, and looks for the ids in the archives.
func (d disk) check(ids []string) (lost, broken int, err error) {
	if err := d.home().ReadAll("amber"); err != nil {
		return 0, 0, err
	}
	// One more message carries those that wait for the other project.
	if err := d.home().Run("birch", "send", "coral@"+shop, "last"); err != nil {
		return 0, 0, err
	}
	if err := d.shop().Run("coral", "poll-inbox"); err != nil {
		return 0, 0, err
	}
	found := map[string]int{}
	for _, home := range []scratch.Home{d.home(), d.shop()} {
		some, _, err := home.Archived() // the cut may tear the end of a line that was not acknowledged
		if err != nil {
			return 0, 0, err
		}
		maps.Copy(found, some) // one has the messages of birch, the other those of birch@front
		aside, err := filepath.Glob(home.Root() + "/*.corrupt-*")
		if err != nil {
			return 0, 0, err
		}
		for _, path := range aside {
			fmt.Printf("powercut: %s: unreadable %s\n", d.System, path)
		}
		broken += len(aside)
	}
	for _, id := range ids {
		if found[id] == 0 {
			_, name, _ := strings.Cut(id, "/")
			fmt.Printf("powercut: %s: lost %s, it stands in %q and %q\n", d.System, id, d.home().Where(name), d.shop().Where(name))
			lost++
		}
	}
	return lost, broken, nil
}
