package terminal

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// LeadVerb is the first argument of a process that Start starts as the leader of the client's
// terminal. The client's words follow it.
const LeadVerb = "__lead"

// Lead is the leader of a client's terminal. It starts the client, writes the client's process id
// to file 3, and returns the client's exit status.
//
// The leader is there for Ctrl-Z. A client then restores the terminal and sends SIGTSTP to itself.
// The kernel drops this signal if nobody above the client is in its session, because nobody could
// continue it: the client would never draw again. The leader is a parent in the client's session.
// It stops with its client, and Terminal.Run notices that.
func Lead(argv []string) (status int, err error) {
	told := os.NewFile(3, "told")
	unix.CloseOnExec(3)
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		fmt.Fprint(told, err)
		return 0, err
	}
	unix.IoctlSetPointerInt(int(os.Stdin.Fd()), unix.TIOCSPGRP, p.Pid)
	unix.Kill(-p.Pid, unix.SIGCONT) // it may have stopped already, at its first use of a terminal that was not its own yet
	fmt.Fprint(told, p.Pid)
	told.Close()
	return wait(p.Pid, func() {
		unix.Kill(unix.Getpid(), unix.SIGSTOP)
		<-goOn // wait, because this thread may run on for a moment after the kill
		unix.Kill(-p.Pid, unix.SIGCONT)
	})
}

// wait returns the exit status of a child as a shell would: 128 plus the signal if a signal ended
// the child. It calls stopped each time the child has stopped.
func wait(pid int, stopped func()) (status int, err error) {
	for {
		var ws unix.WaitStatus
		if _, err := unix.Wait4(pid, &ws, unix.WUNTRACED, nil); err == unix.EINTR {
			continue
		} else if err != nil {
			return 0, fmt.Errorf("wait for the client: %w", err)
		}
		switch {
		case ws.Stopped():
			stopped()
		case ws.Signaled():
			return 128 + int(ws.Signal()), nil
		case ws.Exited():
			return ws.ExitStatus(), nil
		}
	}
}
