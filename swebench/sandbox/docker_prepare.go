package sandbox

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
)

// Prepare implements [Runtime]: images that are here are not asked for at a registry.
func (d *Docker) Prepare(ctx context.Context, images ...string) error {
	wanted := slices.Clone(images)
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	for _, image := range wanted {
		if err := checkImage(image); err != nil {
			return err
		}
	}
	missing := d.each(ctx, wanted, func(image string) error { return d.present(ctx, image) })
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(missing) == 0 {
		return nil
	}
	// An engine that is away misses every image and needs none of them.
	if _, err := d.call(ctx, d.cfg.CallTimeout, "version"); err != nil {
		return err
	}
	if err := d.room(ctx, len(missing)); err != nil {
		return err
	}
	var names []string
	for _, m := range missing {
		names = append(names, m.Image)
	}
	missing = d.each(ctx, names, func(image string) error { return d.pull(ctx, image) })
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(missing) > 0 {
		return &ImageError{Missing: missing}
	}
	return nil
}

// each does something for every image, a few at once, and returns those for which it failed.
func (d *Docker) each(ctx context.Context, images []string, do func(image string) error) []MissingImage {
	errs := make([]error, len(images))
	slots := make(chan struct{}, d.cfg.Pulls)
	var wg sync.WaitGroup
	for i, image := range images {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = do(image)
			}
		})
	}
	wg.Wait()
	var failed []MissingImage
	for i, err := range errs {
		if err != nil {
			failed = append(failed, MissingImage{images[i], err})
		}
	}
	return failed
}

func (d *Docker) present(ctx context.Context, image string) error {
	_, err := d.call(ctx, d.cfg.CallTimeout, "image", "inspect", "--format=here", image)
	return err
}

func (d *Docker) pull(ctx context.Context, image string) error {
	if _, err := d.call(ctx, d.cfg.PullTimeout, "pull", "--quiet", image); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pulled = append(d.pulled, image)
	return nil
}

// room checks the disk, if the engine says where it is and that is of this machine.
func (d *Docker) room(ctx context.Context, images int) error {
	need := max(d.cfg.MinFree, 0) + int64(images)*max(d.cfg.ImageBytes, 0)
	for _, field := range []string{"{{.DockerRootDir}}", "{{.Store.GraphRoot}}"} { // Docker, Podman
		out, err := d.call(ctx, d.cfg.CallTimeout, "info", "--format="+field)
		path := strings.TrimSpace(string(out))
		if err != nil || !strings.HasPrefix(path, "/") {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return nil //nolint:nilerr // the engine is on another machine
		}
		if free, err := freeBytes(path); err == nil && free < need {
			return &DiskError{Path: path, Free: free, Need: need, Images: images}
		}
		return nil
	}
	return ctx.Err()
}
