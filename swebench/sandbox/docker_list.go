package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// List implements [Runtime].
func (d *Docker) List(ctx context.Context, labels map[string]string) ([]Info, error) {
	if len(labels) == 0 {
		labels = map[string]string{ours: "1"}
	}
	var filters []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if !labelKey.MatchString(key) {
			return nil, &SpecError{"Labels", key, "a key is letters, digits and . _ / -"}
		}
		filter := "--filter=label=" + key
		if value := labels[key]; !strings.ContainsAny(value, " ,\"'*?[]\\") { // some clients split or match them
			filter += "=" + value
		}
		filters = append(filters, filter)
	}
	return d.list(ctx, filters, func(info Info) bool { return hasLabels(info, labels) })
}

// ListNamed returns the containers whose name holds a part, whoever made them: the caller picks
// out the exact names. It is how the containers of a harness are found, which have no labels.
func (d *Docker) ListNamed(ctx context.Context, part string) ([]Info, error) {
	if !plainName.MatchString(part) {
		return nil, &SpecError{"part of a name", part, "use letters, digits and _ . -, beginning with a letter or a digit"}
	}
	return d.list(ctx, []string{"--filter=name=" + part}, func(info Info) bool { return strings.Contains(info.Name, part) })
}

func (d *Docker) list(ctx context.Context, filters []string, want func(Info) bool) ([]Info, error) {
	out, err := d.call(ctx, d.cfg.CallTimeout, append([]string{"ps", "--all", "--quiet", "--no-trunc"}, filters...)...)
	if err != nil {
		return nil, err
	}
	var infos []Info
	for ids := range slices.Chunk(strings.Fields(string(out)), 200) {
		some, err := d.inspect(ctx, ids...)
		if err != nil {
			return nil, err
		}
		infos = append(infos, some...)
	}
	return slices.DeleteFunc(infos, func(info Info) bool { return !want(info) }), nil
}

func hasLabels(info Info, labels map[string]string) bool {
	for key, value := range labels {
		if got, ok := info.Labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// inspect describes containers. One that is gone meanwhile is left out.
func (d *Docker) inspect(ctx context.Context, ids ...string) ([]Info, error) {
	out, err := d.call(ctx, d.cfg.CallTimeout, append([]string{"container", "inspect"}, ids...)...)
	var found []struct {
		ID      string `json:"Id"`
		Name    string
		Created time.Time
		State   struct{ Running bool }
		Config  struct {
			Image  string
			Labels map[string]string
		}
	}
	if jerr := json.Unmarshal(out, &found); jerr != nil {
		if err == nil {
			err = &EngineError{Op: d.op([]string{"inspect"}), Err: errors.New("the answer is not the JSON that was expected")}
		}
		return nil, err
	}
	infos := make([]Info, len(found))
	for i, c := range found {
		infos[i] = Info{
			ID: c.ID, Name: strings.TrimPrefix(c.Name, "/"), Image: c.Config.Image,
			Labels: c.Config.Labels, Running: c.State.Running, Created: c.Created,
		}
	}
	return infos, nil
}

// Remove implements [Runtime]. The engine's word for what is not there varies, and a removal
// may be under way already: what counts is that nothing is left.
func (d *Docker) Remove(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	limit := d.cfg.CallTimeout + time.Duration(len(ids))*2*time.Second
	ctx, cancel := context.WithTimeout(ctx, 2*limit)
	defer cancel()
	for {
		_, err := d.call(ctx, limit, append([]string{"rm", "--force", "--volumes"}, ids...)...)
		if err == nil {
			return nil
		}
		if _, perr := d.call(ctx, d.cfg.CallTimeout, "ps", "--quiet"); perr != nil {
			return err
		}
		left, lerr := d.inspect(ctx, ids...)
		if lerr == nil && len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}
