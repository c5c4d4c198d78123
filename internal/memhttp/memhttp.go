package memhttp

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Server serves a handler on connections in memory. Make, use and close it inside
// of one bubble.
type Server struct {
	listener *listener
	server   *http.Server
	done     chan struct{}
	conns    sync.WaitGroup
}

// Serve starts a server for h.
func Serve(h http.Handler) *Server {
	s := &Server{
		listener: &listener{conns: make(chan net.Conn), closed: make(chan struct{})},
		done:     make(chan struct{}),
	}
	s.server = &http.Server{ReadHeaderTimeout: time.Hour, Handler: h, ConnState: func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew: // in the goroutine of Serve
			s.conns.Add(1)
		case http.StateClosed, http.StateHijacked: // behind the last handler of the connection
			s.conns.Done()
		}
	}}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(s.listener)
	}()
	return s
}

// URL is the address that Transport connects to; any other one works as well.
func (s *Server) URL() string { return "http://memory.test" }

// Transport returns a transport whose connections all lead to s.
func (s *Server) Transport() *http.Transport {
	return &http.Transport{DialContext: s.listener.dial, MaxIdleConnsPerHost: 1024}
}

// Close ends the server and its connections and waits for the handlers. Idle connections
// of a client end with it.
func (s *Server) Close() {
	_ = s.server.Close()
	<-s.done
	s.conns.Wait()
}

type listener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "memory" }
