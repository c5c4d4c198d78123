package sandbox

import (
	"bytes"
	"context"
)

// endRest is the shell script that ends all processes of a container but those of its first
// session, which are its first process and what that one waits with. No command gets into it.
const endRest = lookAround + `
round=0
while [ "$round" -lt 50 ]; do
	round=$((round+1)) found=
	[ "$round" -lt 40 ] || sleep 1 # for one that is in the middle of a call of the system
	for d in /proc/[0-9]*; do
		p=${d#/proc/}
		if [ "$p" = 1 ] || [ "$p" = $$ ]; then continue; fi
		{ all "$d/stat"; } 2>/dev/null || continue
		set -f; look ${s##*) }; set +f
		case $state in Z | X | '') continue; esac
		if [ "$session" = 1 ]; then continue; fi
		found=1
		kill -9 "$p" 2>/dev/null
	done
	[ -n "$found" ] || exit 0
done
exit 1
`

// Attach implements [Runtime].
func (d *Docker) Attach(ctx context.Context, id string) (Sandbox, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	state, err := d.state(ctx, id)
	if err != nil {
		return nil, err
	}
	infos, err := d.inspect(ctx, id)
	if err != nil {
		return nil, err
	}
	if state != "running" || len(infos) != 1 {
		return nil, goneError("the container " + short(id) + " is " + state)
	}
	dir := infos[0].Labels[dirLabel]
	if dir == "" {
		return nil, &SpecError{"ID", id, "the container was not made by this package"}
	}
	c := d.container(infos[0].ID, dir, infos[0].Labels[limitLabel])
	if err := c.endEarlier(ctx); err != nil {
		if state, serr := d.state(ctx, id); serr == nil && state != "running" {
			return nil, goneError("the container " + short(id) + " is " + state)
		}
		return nil, err
	}
	return c, nil
}

// endEarlier ends what an earlier process has begun in the container: its commands go on when
// their clients are dead. Where there is no room for one more process, room is made first.
func (c *container) endEarlier(ctx context.Context) error {
	for tries := 1; ; tries++ {
		_, err := c.engine.call(ctx, c.engine.cfg.CallTimeout, "exec", "--user=0", "--workdir=/", c.id, "/bin/sh", "-c", endRest)
		if err == nil || tries == 3 || !c.clear(ctx) {
			return err
		}
	}
}

// state is what the engine says of a container; "removed" when there is none.
func (d *Docker) state(ctx context.Context, id string) (string, error) {
	out, err := d.call(ctx, d.cfg.CallTimeout, "ps", "--all", "--quiet", "--no-trunc", "--filter=id="+id)
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		return "removed", err
	}
	infos, err := d.inspect(ctx, id)
	switch {
	case err != nil:
		return "", err
	case len(infos) == 0:
		return "removed", nil
	case infos[0].Running:
		return "running", nil
	}
	return "not running any more", nil
}

func short(id string) string { return id[:min(12, len(id))] }
