package qwen

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"c2c/wake"
)

// incoming receives messages that the client's sessions send to an alias of c2c.
//
// When we close the connection, the client tells its model that the message was sent. But if we
// have not read everything by then, the client says that sending has failed. So incoming reads the
// last byte of the message only after it has stored the message.
type incoming struct {
	records string
	to      *peer
	store   func(context.Context, wake.Sent) error
}

// takeTime is the time in which incoming must read and store a message. After 5 seconds the client
// would report that it does not know whether the message was taken.
const takeTime = 4 * time.Second

// maxFrame bounds what incoming reads, in bytes. The client (0.24.4) sends a text of at most 65,536
// characters; in JSON each character takes at most six bytes.
const maxFrame = 1 << 20

// frame is a line from a sender.
type frame struct {
	MsgV                                              int
	Type, Token, MsgID, From, ReplyToken, ToSessionID string
	Message                                           struct{ Role, Content string }
}

func (d *incoming) serve(conn *net.UnixConn) {
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), takeTime)
	defer cancel()
	end, _ := ctx.Deadline()
	conn.SetDeadline(end)
	lines, err := readFrame(conn)
	if err != nil {
		return // the client has only checked whether a process listens
	}
	sent, err := d.read(conn, lines)
	if err == nil {
		err = d.store(ctx, sent)
	}
	if err == nil {
		io.Copy(io.Discard, conn)
	}
}

// read parses the message and identifies its sender.
func (d *incoming) read(conn *net.UnixConn, lines []byte) (s wake.Sent, err error) {
	var auth, f frame
	first, second, _ := bytes.Cut(lines, []byte("\n"))
	if err = errors.Join(json.Unmarshal(first, &auth), json.Unmarshal(second, &f)); err != nil {
		return s, err
	}
	if auth.Type != "auth" || subtle.ConstantTimeCompare([]byte(auth.Token), []byte(d.to.token)) != 1 {
		return s, errors.New("it does not have the token")
	}
	if f.MsgV > 1 || f.Type != "user" || f.ToSessionID != d.to.id || f.Message.Role != "user" || f.Message.Content == "" {
		return s, errors.New("it is no message to this name")
	}
	pid, err := process(conn)
	if err != nil {
		return s, err
	}
	sender, ok := readPeer(filepath.Join(d.records, strconv.Itoa(pid)+".json"))
	if !ok || sender.PID != pid || sender.IPCPath == "" || sender.IPCPath != f.From || sender.IPCToken != f.ReplyToken {
		return s, fmt.Errorf("process %d is not the session that it says", pid)
	}
	return wake.Sent{Process: pid, Session: sender.SessionID, To: d.to.name, ID: f.MsgID, Text: f.Message.Content}, nil
}

// process returns the id of the process that has connected, as the kernel knows it.
func process(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	failed := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(failed, err); err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// readFrame reads two lines, but leaves the last byte of the second line unread.
func readFrame(conn *net.UnixConn) (lines []byte, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 64<<10)
	for {
		n := 0
		failed := raw.Read(func(fd uintptr) bool {
			n, _, err = syscall.Recvfrom(int(fd), buf, syscall.MSG_PEEK)
			return !errors.Is(err, syscall.EAGAIN)
		})
		if err = errors.Join(failed, err); err != nil {
			return nil, err
		}
		if n <= 0 {
			return nil, io.ErrUnexpectedEOF
		}
		if len(lines)+n > maxFrame {
			return nil, errors.New("the message is too long")
		}
		whole := bytes.Count(lines, []byte("\n"))+bytes.Count(buf[:n], []byte("\n")) > 1
		if whole {
			n--
		}
		if _, err := io.ReadFull(conn, buf[:n]); err != nil {
			return nil, err
		}
		if lines = append(lines, buf[:n]...); whole {
			return lines, nil
		}
	}
}
