package ssh

import (
	"c2c/internal/proc"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// options are the options of ssh. BatchMode is on because no person is there to answer questions.
// ControlMaster and ControlPath keep ssh from using a connection that this user has open: such a
// connection has another key, and so other rights at the other end.
var options = []string{"-T", "-e", "none", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15",
	"-o", "ServerAliveCountMax=3", "-o", "ClearAllForwardings=yes", "-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "LogLevel=ERROR"}

// remoteCommand is the command that ssh runs at the other end, unless authorized_keys there has its
// own command for the key.
const remoteCommand = "c2c relay --stdio"

// arguments returns the arguments of ssh for a destination. The argument identity is the path of a
// key file, or "".
func arguments(identity, dest string) []string {
	args := slices.Clone(options)
	if identity != "" {
		args = append(args, "-i", identity, "-o", "IdentitiesOnly=yes")
	}
	return append(args, "--", dest, remoteCommand)
}

// runSSH runs ssh to a host until the link ends, and then ends ssh. If this process is killed, the
// input of ssh ends, and so ssh ends too. The result stood reports whether a link was made.
func (c *Carrier) runSSH(ctx context.Context, d Dial) (stood bool, err error) {
	cmd := exec.Command(cmp.Or(c.cfg.Program, "ssh"), arguments(c.cfg.Identity, d.Dest)...)
	said := &proc.Tail{Most: maxTail}
	cmd.Stderr, cmd.WaitDelay = said, time.Second // a ProxyCommand may keep stderr open
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	stood, err = c.serve(ctx, &childConn{out, in, cmd}, d.Peer, true)
	exit := cmd.Wait()
	switch text := strings.Join(strings.Fields(said.String()), " "); {
	case text != "":
		return stood, errors.New(brief(text))
	case stood:
		return stood, errors.New("the link was lost")
	case cmd.ProcessState.ExitCode() > 0:
		return stood, fmt.Errorf("ssh: %w", exit)
	}
	return stood, err
}

// brief turns what ssh has said into a short error that says what to do, if it knows one. ssh
// surrounds these errors with long warnings.
func brief(text string) string {
	const denied, hostKey = "Permission denied (", "Host key verification failed"
	_, methods, _ := strings.Cut(text, denied)
	methods, _, isDenied := strings.Cut(methods, ")")
	switch {
	case strings.Contains(text, hostKey):
		return hostKey + ": connect to it once with ssh by hand, which shows why, and check that it is the right machine"
	case isDenied && strings.Contains(methods, "publickey"):
		return denied + methods + "): the line of c2c is missing in ~/.ssh/authorized_keys there, or sshd reads another file (sshd -T | grep authorizedkeys), or others may write to that folder; c2c relay add --dry-run shows the line"
	case isDenied:
		return denied + methods + "): sshd there takes no keys, and nobody can type a password here: set PubkeyAuthentication yes there, or use c2c relay pair"
	}
	return text
}

// childConn joins the two pipes of ssh to one connection.
type childConn struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

func (c *childConn) Close() error {
	c.cmd.Process.Kill()
	return c.WriteCloser.Close()
}

// maxTail is how much of what ssh says is kept, in bytes.
const maxTail = 1 << 10

// Stdio is the work of remoteCommand, which ssh runs at the other end. The argument conn is a
// connection to the relay there. Stdio copies data from in to conn, and from conn to out, until one
// of the two streams ends.
func Stdio(conn net.Conn, in io.Reader, out io.Writer) error {
	done := make(chan error, 2)
	go func() { // this goroutine may wait for input until the process ends
		_, err := io.Copy(conn, in)
		done <- err
	}()
	go func() {
		_, err := io.Copy(out, conn)
		done <- err
	}()
	err := <-done
	conn.Close()
	return err
}
