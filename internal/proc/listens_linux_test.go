package proc

import (
	"net"
	"os"
	"testing"
)

func TestOnlyTheProcessThatListensAtAPortDoes(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err) // no IPv6
			continue
		}
		defer l.Close()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		port, used := l.Addr().(*net.TCPAddr).Port, conn.LocalAddr().(*net.TCPAddr).Port
		if !Listens(os.Getpid(), port) || Listens(os.Getppid(), port) || Listens(os.Getpid(), used) {
			t.Errorf("%s: ours %v, our parent's %v, of a connection %v", address, Listens(os.Getpid(), port), Listens(os.Getppid(), port), Listens(os.Getpid(), used))
		}
	}
}
