package routingtest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// ClusterConfig configures a [Cluster]. The zero value works.
type ClusterConfig struct {
	// Backends is their number; 0 means 8.
	Backends int
	// Backend is the configuration of each; Name is replaced by backend-0,
	// backend-1 and so on. They share Faults if it is set.
	Backend BackendConfig
	// Policy is that of the router in front; nil means ConsistentHash{}.
	Policy Policy
}

// Cluster is several backends behind one router. It is safe for concurrent use.
type Cluster struct {
	backends []*Backend
	router   *Router

	server  *http.Server
	url     string
	serving sync.WaitGroup // the accept loop
	conns   sync.WaitGroup // connections, each with its goroutine; a hijacked one is being reset and done at once
}

// NewCluster returns a cluster that serves on a free port of the loopback
// interface. Call Close when done. The error is an *[Error] for a configuration
// that cannot work, or that of listening.
func NewCluster(cfg ClusterConfig) (*Cluster, error) {
	c, err := NewUnstartedCluster(cfg)
	if err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	return c, nil
}

// NewUnstartedCluster returns a cluster without a listener or a goroutine, for
// use through Handler: with a server or a fake network of the caller's own. Its
// URL is empty, and its Close does nothing.
func NewUnstartedCluster(cfg ClusterConfig) (*Cluster, error) {
	or(&cfg.Backends, 8)
	if cfg.Backends < 0 {
		return nil, &Error{"ClusterConfig.Backends", strconv.Itoa(cfg.Backends) + " is negative", "leave it 0 for 8"}
	}
	c := &Cluster{}
	router := RouterConfig{Policy: cfg.Policy}
	for i := range cfg.Backends {
		each := cfg.Backend
		each.Name = "backend-" + strconv.Itoa(i)
		b := NewBackend(each)
		c.backends = append(c.backends, b)
		router.Targets = append(router.Targets, Target{b.Name(), b})
	}
	var err error
	c.router, err = NewRouter(router)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start() error {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return fmt.Errorf("routingtest: no loopback listener for the cluster: %w", err)
	}
	c.url = "http://" + l.Addr().String() + "/v1"
	c.server = &http.Server{
		Handler:           c.router,
		ReadHeaderTimeout: time.Minute,
		ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				c.conns.Add(1)
			case http.StateClosed, http.StateHijacked:
				c.conns.Done()
			case http.StateActive, http.StateIdle:
			}
		},
	}
	c.serving.Go(func() { _ = c.server.Serve(l) }) // ends with ErrServerClosed
	return nil
}

// URL returns the base URL for clients, which ends in /v1.
func (c *Cluster) URL() string { return c.url }

// Handler returns what the cluster serves.
func (c *Cluster) Handler() http.Handler { return c.router }

// Router returns the router, to take backends down and up.
func (c *Cluster) Router() *Router { return c.router }

// Backends returns the backends in the order of their numbers.
func (c *Cluster) Backends() []*Backend { return append([]*Backend(nil), c.backends...) }

// Stats returns the sums over all backends; MaxInFlight is the highest of one.
func (c *Cluster) Stats() BackendStats {
	var sum BackendStats
	for _, b := range c.backends {
		s := b.Stats()
		sum.Requests += s.Requests
		sum.Completions += s.Completions
		sum.Faults += s.Faults
		sum.InFlight += s.InFlight
		sum.MaxInFlight = max(sum.MaxInFlight, s.MaxInFlight)
		sum.PromptTokens += s.PromptTokens
		sum.CachedTokens += s.CachedTokens
		sum.CompletionTokens += s.CompletionTokens
	}
	return sum
}

// Close stops listening, closes all connections, cancels the requests under way
// and waits until nothing of the cluster runs any more; a [Reply] that does not
// heed its context holds it up. It may be called more than once, and the
// counts of router and backends stay readable.
func (c *Cluster) Close() error {
	if c.server == nil {
		return nil
	}
	err := c.server.Close()
	c.serving.Wait()
	// A connection that was being accepted meanwhile has missed the first call.
	err = errors.Join(err, c.server.Close())
	c.conns.Wait()
	if err != nil {
		return fmt.Errorf("routingtest: close the cluster: %w", err)
	}
	return nil
}
