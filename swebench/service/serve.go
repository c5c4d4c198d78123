package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Time limits of the server. A cancel takes up to 25 s, and downloads have a limit of
// their own for each piece.
const (
	readHeaderWait = 10 * time.Second
	readWait       = time.Minute
	answerWait     = 2 * time.Minute
	idleWait       = 2 * time.Minute
	stopWait       = 45 * time.Second
)

// Serve answers requests on l until ctx ends. It then cancels the runs, while scorers may
// still ask for them, and returns when all of them and all requests have ended, within a
// minute. It closes s and l.
func Serve(ctx context.Context, l net.Listener, s *Service) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: readHeaderWait,
		ReadTimeout:       readWait,
		WriteTimeout:      answerWait,
		IdleTimeout:       idleWait,
		MaxHeaderBytes:    64 << 10,
		// "OPTIONS *" needs the token like everything else.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	err = errors.Join(err, s.Close(stopping), server.Shutdown(stopping), server.Close())
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
