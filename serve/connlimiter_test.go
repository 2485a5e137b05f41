package serve

import (
	"net"
	"net/http"
	"testing"
)

// The requests of all connections hang. The client of one has hung up.
func TestAClientThatHasHungUpKeepsNoOtherOut(t *testing.T) {
	c := newConnLimiter(2)
	add := func() (one *conn, client net.Conn) {
		server, client := net.Pipe()
		if one = c.add(server); one != nil {
			one.admit(Tools)
			c.note(one, http.StateActive)
		}
		return one, client
	}
	stays, _ := add()
	gone, client := add()
	if one, _ := add(); one != nil {
		t.Fatal("a connection with a request was closed to make room")
	}
	client.Close()
	gone.Read(make([]byte, 1)) // net/http reads while a handler runs
	if one, _ := add(); one == nil {
		t.Error("there is no room for a further client")
	}
	if len(c.conns) != 2 || c.conns[0] != stays {
		t.Error("the wrong connection was closed")
	}
}
