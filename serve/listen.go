package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"syscall"

	"c2c/internal/atomicfile"
)

// Special values of Config.Port.
const (
	LastPort = -1 // the port of the last run; at the first run 8788, or a free port if 8788 is taken
	AnyPort  = 0  // a free port
)

const (
	UsualPort = 8788 // the port in Claude Code's Channels reference
	portFile  = "port"
	tries     = 64 // how many ports to try
)

// The range in which c2c looks for a free port. It is below the ephemeral ports of Linux and macOS,
// which the system gives to outgoing connections. Otherwise such a connection, for example that of
// a waiting client, could take the daemon's port during a restart.
const firstFree, lastFree = 10_000, 32_767

// TakenError reports that another program listens at the port.
type TakenError struct{ Port int }

func (e *TakenError) Error() string {
	return fmt.Sprintf("port %d of this machine is taken by another program", e.Port)
}

// listen opens the listeners. The argument port is Config.Port, and last is the port of the last
// run, or 0. Clients remember the URL, so listen returns an error if the port of the last run is
// taken.
func listen(ctx context.Context, port, last int) (all []net.Listener, at int, err error) {
	switch {
	case port == AnyPort:
		return listenAny(ctx)
	case port != LastPort:
		all, err = listenAt(ctx, port)
		return all, port, err
	case last != 0:
		all, err = listenAt(ctx, last)
		return all, last, err
	}
	all, err = listenAt(ctx, UsualPort)
	if taken := new(TakenError); errors.As(err, &taken) {
		return listenAny(ctx)
	}
	return all, UsualPort, err
}

// listenAny finds a port that is free on both addresses.
func listenAny(ctx context.Context) (all []net.Listener, port int, err error) {
	for range tries {
		port = firstFree + rand.IntN(lastFree-firstFree+1)
		all, err = listenAt(ctx, port)
		if taken := new(TakenError); !errors.As(err, &taken) {
			return all, port, err
		}
	}
	return nil, 0, fmt.Errorf("find a port that is free for both 127.0.0.1 and ::1: %w", err)
}

// FreePort returns a port at which the daemon can listen now.
func FreePort(ctx context.Context) (int, error) {
	all, port, err := listenAny(ctx)
	for _, l := range all {
		err = errors.Join(err, l.Close())
	}
	return port, err
}

// listenAt opens the loopback addresses of a port. It returns an error if another program listens
// at one of them, because clients that use "localhost" could send their token to that program.
func listenAt(ctx context.Context, port int) ([]net.Listener, error) {
	four, err := listenOn(ctx, "tcp4", "127.0.0.1", port)
	if err != nil {
		return nil, err
	}
	six, err := listenOn(ctx, "tcp6", "::1", port)
	switch {
	case err == nil:
		return []net.Listener{four, six}, nil
	case isMissing(err):
		return []net.Listener{four}, nil
	}
	return nil, errors.Join(err, four.Close())
}

func listenOn(ctx context.Context, network, address string, port int) (net.Listener, error) {
	lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probeTime, Interval: probeTime, Count: 3}}
	l, err := lc.Listen(ctx, network, net.JoinHostPort(address, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &TakenError{port}
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// isMissing reports whether err means that the machine has no IPv6, or no ::1.
func isMissing(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)
}

// PortBefore returns the port of the last run, 0 if there was none.
func PortBefore(dir *atomicfile.Dir) (int, error) {
	data, err := dir.ReadIf(portFile)
	if err != nil || data == nil {
		return 0, err
	}
	port, err := ParsePort(strings.TrimSpace(string(data)))
	if err != nil || port == AnyPort {
		return 0, fmt.Errorf("%s/%s contains no port number: remove the file, or give --port", dir.Path(), portFile)
	}
	return port, nil
}

// ParsePort parses a port that a person has typed. It may return AnyPort (0).
func ParsePort(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, errors.New("want a port: 1 to 65535, or 0 for any free port")
	}
	return int(port), nil
}

// names returns the Host and Origin headers that a request may have.
func names(port int) (hosts, origins map[string]bool) {
	hosts, origins = map[string]bool{}, map[string]bool{}
	for _, name := range []string{"127.0.0.1", "localhost", "[::1]"} {
		host := name + ":" + strconv.Itoa(port)
		hosts[host], origins["http://"+host] = true, true
		if port == 80 { // the default port of http, which clients leave out
			hosts[name], origins["http://"+name] = true, true
		}
	}
	return hosts, origins
}
