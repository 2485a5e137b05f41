package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	idlers   = 100
	idleTime = 20 * time.Second
	ticks    = 100 // of CPU time a second, as /proc counts
)

// idler is a session with its MCP server, whose client is a shell that waits for it.
type idler struct {
	shell *exec.Cmd
	in    io.Closer
	pid   int // of the server
}

// idle starts a hundred sessions and tells what they cost while nothing happens, and what they cost a sender.
func (b *bench) idle() error {
	w := b.now
	before, err := w.sends()
	if err != nil {
		return err
	}
	client, err := net.Listen("unix", filepath.Join(w.home, "client.sock"))
	if err != nil {
		return err
	}
	defer client.Close()
	var all []idler
	defer func() {
		for _, one := range all {
			one.in.Close()
			one.shell.Wait()
		}
	}()
	for i := range idlers {
		one, err := w.startIdler(fmt.Sprintf("idle-%d", i))
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	time.Sleep(5 * time.Second) // until nothing happens any more
	cpu, wakes, rss := usages(all)
	time.Sleep(idleTime)
	cpuAfter, wakesAfter, _ := usages(all)
	watched := 0
	for i := range all {
		if _, err := os.Stat(filepath.Join(w.root, fmt.Sprintf("idle-%d.wake.lock", i))); err == nil {
			watched++
		}
	}
	after, err := w.sends()
	if err != nil {
		return err
	}
	fmt.Printf("\n%d idle sessions, %d of them watched: %.2f %% of a core, %.1f wake-ups each in 10 s (aim: 1), %.1f MB each (aim: 16).\n", len(all), watched,
		100*float64(cpuAfter-cpu)/ticks/idleTime.Seconds(), float64(wakesAfter-wakes)/idlers/idleTime.Seconds()*10, float64(rss)/idlers/1024)
	fmt.Printf("`c2c send` beside them: %.2f ms, without: %.2f ms, ratio %.2f.\n", at(after, 50), at(before, 50), at(after, 50)/at(before, 50))
	return nil
}

func (w *world) sends() (took []float64, err error) {
	for range pairs {
		t, err := c2c("send", "amber", "hello")(w)
		if err != nil {
			return nil, err
		}
		took = append(took, t)
	}
	return took, nil
}

// usages adds up what all the servers have used.
func usages(all []idler) (cpu, switches, rss int) {
	for _, one := range all {
		c, s, r := usage(one.pid)
		cpu, switches, rss = cpu+c, switches+s, rss+r
	}
	return cpu, switches, rss
}

func (w *world) startIdler(name string) (one idler, err error) {
	one.shell = exec.Command("sh", "-c", `printf '{"hook_event_name":"SessionStart","session_id":"'"$C2C_MCP_SESSION_ID"'-id"}' |
		CLAUDE_PID=$$ c2c hook >/dev/null && c2c register "$C2C_MCP_SESSION_ID" >&2 && c2c mcp; true`)
	one.shell.Dir = w.home
	one.shell.Env = []string{"HOME=" + w.home, "PATH=" + w.bin + ":" + os.Getenv("PATH"), "C2C_MCP_BROKER_ROOT=" + w.root,
		"C2C_MCP_SESSION_ID=" + name, "C2C_MCP_CLIENT_TYPE=claude", "CLAUDE_CODE_MESSAGING_SOCKET=" + filepath.Join(w.home, "client.sock")}
	in, err := one.shell.StdinPipe()
	if err != nil {
		return one, err
	}
	one.in = in
	out, err := one.shell.StdoutPipe()
	if err != nil {
		return one, err
	}
	if err := one.shell.Start(); err != nil {
		return one, err
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"0"}}}`+"\n"); err != nil {
		return one, err
	}
	if _, err := out.Read(make([]byte, 4096)); err != nil { // it serves
		return one, fmt.Errorf("start an idle session: %w", err)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", one.shell.Process.Pid))
	if err != nil {
		return one, err
	}
	one.pid, err = strconv.Atoi(strings.TrimSpace(string(children)))
	return one, err
}

// usage gives a process's CPU time in ticks, its voluntary switches and its memory in KiB.
func usage(pid int) (cpu, switches, rss int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, rest, ok := bytes.Cut(stat, []byte(") ")); ok {
		f := strings.Fields(string(rest))
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		cpu = user + system
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, task := range tasks {
		status, _ := os.ReadFile(task)
		for line := range strings.Lines(string(status)) {
			f := strings.Fields(line)
			if len(f) > 1 && f[0] == "voluntary_ctxt_switches:" {
				n, _ := strconv.Atoi(f[1])
				switches += n
			}
			if len(f) > 1 && f[0] == "VmRSS:" {
				rss, _ = strconv.Atoi(f[1])
			}
		}
	}
	return cpu, switches, rss
}
