package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"c2c/internal/atomicfile"
)

const keyTime = time.Second // between two checks of the keys of open streams

// New makes a server that does not listen yet. At first it has only the paths /healthz and
// /metrics; Handle adds others.
func New(cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	limits := cfg.Limits.withDefaults()
	s := &Server{cfg: cfg, limits: limits, mux: http.NewServeMux(), tools: &atomicfile.PrivateFile[string]{Dir: cfg.State, Name: tokenFile, Most: 2 * tokenLen, Parse: parseToken}, counts: newCounts(cfg.Now()), open: newStreams(limits.Streams)}
	s.roots = newOpenRoots(cfg.Open, rootTime, cfg.Log)
	s.roots.whileOpen = cfg.Keep
	s.Handle(
		Route{Pattern: "GET /healthz", Who: []Kind{Anyone}, Handler: http.HandlerFunc(s.health)},
		Route{Pattern: "GET /metrics", Who: []Kind{Tools}, Handler: http.HandlerFunc(s.metrics)})
	return s
}

// Listen opens the port, makes the tool token if there is none, and publishes where the daemon
// listens. Requests wait until Run answers them.
func (s *Server) Listen(ctx context.Context) (err error) {
	if err := MakeToken(s.cfg.State); err != nil {
		return err
	}
	if err := s.withdraw(); err != nil {
		return err
	}
	last := 0
	if s.cfg.Port == LastPort {
		dir, err := s.cfg.State.Sub(FilesDir, true)
		if err == nil {
			last, err = PortBefore(dir)
			dir.Close()
		}
		if err != nil {
			return err
		}
	}
	s.listeners, s.port, err = listen(ctx, s.cfg.Port, last)
	if err != nil {
		return err
	}
	s.hosts, s.origins = names(s.port)
	if err := s.publish(); err != nil {
		return errors.Join(err, s.closeListeners())
	}
	return nil
}

func (s *Server) closeListeners() (err error) {
	for _, l := range s.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// Run answers requests until ctx ends, and then waits at most Limits.Grace for the answers under
// way. Call Listen before Run.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ConnContext: withConn, ConnState: s.countConn, DisableGeneralOptionsHandler: true,
		ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug), // faults of clients
	}
	failed := make(chan error, len(s.listeners))
	var accepting sync.WaitGroup
	for _, l := range s.listeners {
		accepting.Go(func() { failed <- server.Serve(l) })
	}
	var err error
	look := time.NewTicker(keyTime)
	defer look.Stop()
	for waits := true; waits; {
		select {
		case <-ctx.Done():
			waits = false
		case err = <-failed:
			waits = false
		case <-look.C:
			s.endUnkeyed()
		}
	}
	err = errors.Join(err, s.shutdown(server))
	accepting.Wait() // a Serve that begins after Shutdown closes its listener only now; the next daemon needs the port
	return err
}

// countConn counts the open connections. The HTTP server calls it whenever the state of a
// connection changes.
func (s *Server) countConn(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.connections.Add(1)
	case http.StateClosed:
		s.connections.Add(-1)
	}
}

// endUnkeyed ends the standing streams whose key is no longer valid. For a key that is still valid,
// the check costs only one stat.
func (s *Server) endUnkeyed() {
	for _, one := range s.open.standing() {
		if !one.still() {
			one.cancel()
		}
	}
}

// shutdown waits for answers under way. First it ends the standing streams, because the HTTP
// server's Shutdown would wait for them.
func (s *Server) shutdown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.Grace)
	defer cancel()
	err := s.withdraw()
	for _, one := range s.open.standing() {
		one.cancel()
	}
	if serr := server.Shutdown(ctx); serr != nil && !errors.Is(serr, context.DeadlineExceeded) && !errors.Is(serr, net.ErrClosed) {
		err = errors.Join(err, serr)
	}
	server.Close() // ends the contexts of the remaining requests
	done := make(chan struct{})
	go func() { s.busy.End(); s.roots.end(); close(done) }()
	select {
	case <-done:
	case <-time.After(s.limits.Grace):
		err = errors.Join(err, errors.New("a request, or the work in a project, still runs although the daemon ends"))
	}
	return err
}
