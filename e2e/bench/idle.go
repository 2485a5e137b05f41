package main

import (
	"errors"
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
	idlers   = 50 // with -before they run twice, and each takes one of the 128 inotify instances that a user has by default
	idleTime = 10 * time.Second
	ticks    = 100 // ticks of CPU time in a second in /proc
)

// idler is a session with its MCP server. A shell that waits for the server plays the client.
type idler struct {
	shell *exec.Cmd
	in    io.Closer
	pid   int // the server's process id
}

// idleRows measure what idle sessions cost the machine, and how much they slow down a sender.
func idleRows() []row {
	figure := func(i int) action {
		return func(w *world) ([]float64, error) { return []float64{w.idle[i]}, nil }
	}
	return []row{
		{name: "c2c send beside 50 idle sessions", do: emptied("amber", c2c("send", "amber", "hello")), limit: replaceWords, against: replace, with: withIdlers},
		{name: "idle session, wake-ups in 10 s", unit: "times", do: figure(0), aim: 2, most: 1, with: measureIdlers},
		{name: "idle session, CPU", unit: "ms in 10 s", do: figure(1), aim: 1, most: 1, with: measureIdlers},
		{name: "idle session, memory", unit: "MB", do: figure(2), aim: 24, most: 1, with: measureIdlers},
	}
}

// withIdlers starts the idle sessions.
func withIdlers(w *world) error {
	client, err := net.Listen("unix", filepath.Join(w.home, "client.sock"))
	if err != nil {
		return err
	}
	w.running = append(w.running, client.Close)
	w.idlers = nil
	for i := range idlers {
		one, err := w.startIdler(fmt.Sprintf("idle-%d", i))
		if err != nil {
			return err
		}
		w.idlers = append(w.idlers, one.pid)
		w.running = append(w.running, func() error { return errors.Join(one.in.Close(), one.shell.Wait()) })
	}
	return nil
}

// measureIdlers measures the idle sessions when a row first needs the figures, and records them for
// one session. Then it ends them, because they would disturb the measurement of the older programs.
func measureIdlers(w *world) (err error) {
	if w.idle != nil {
		return nil
	}
	defer func() { err = errors.Join(err, w.end()) }()
	if err := withIdlers(w); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // until the work of the start is over
	cpu, wakes, kib := usages(w.idlers)
	time.Sleep(idleTime)
	cpuAfter, wakesAfter, _ := usages(w.idlers)
	each := 10 / idleTime.Seconds() / idlers
	w.idle = []float64{float64(wakesAfter-wakes) * each, (cpuAfter - cpu) * each, float64(kib) * 1024 / 1e6 / idlers}
	return nil
}

// usages returns the sums of usage for several processes.
func usages(pids []int) (cpu float64, switches, kib int) {
	for _, pid := range pids {
		c, s, k := usage(pid)
		cpu, switches, kib = cpu+c, switches+s, kib+k
	}
	return cpu, switches, kib
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
	if _, err := out.Read(make([]byte, 4096)); err != nil { // the first output shows that the server runs
		return one, fmt.Errorf("start an idle session: %w", err)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", one.shell.Process.Pid))
	if err != nil {
		return one, err
	}
	one.pid, err = strconv.Atoi(strings.TrimSpace(string(children)))
	return one, err
}

// usage returns a process's CPU time in ms, its voluntary switches and its memory in KiB.
func usage(pid int) (cpu float64, switches, kib int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, rest, ok := strings.Cut(string(stat), ") "); ok {
		f := strings.Fields(rest)
		user, _ := strconv.ParseFloat(f[11], 64)
		system, _ := strconv.ParseFloat(f[12], 64)
		cpu = (user + system) * 1000 / ticks
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
				kib, _ = strconv.Atoi(f[1])
			}
		}
	}
	return cpu, switches, kib
}
