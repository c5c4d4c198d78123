package service_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// chromium finds a browser; without one the test is skipped, unless HOMING_REQUIRE demands
// it.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	need.Missing(t, "chromium", "chromium is missing: the page was not looked at")
	return ""
}

// In a browser the page is laid out as it is meant: every run is a row of it, and the
// colours of the states are seen. HOMING_SCREENSHOT names a file for the picture.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	w := start(t, script(t, `{"runs":{"qwen3-coder":{"agent_log":"l"},"qwen3-small":{"outcome":"fail","error":"the endpoint is down"},"*":{"instances":{"c":{"outcome":"hang"}}}}}`), func(c *service.Config) {
		c.AuthToken, c.AllowUnauthenticated, c.MaxConcurrentRuns = "", true, 2
	})
	for model, state := range map[string]swebench.State{"qwen3-coder": "succeeded", "qwen3-small": "failed"} {
		w.until(w.submit(body(`"model_name":"`+model+`"`, "a", "b")).RunID, state)
	}
	id := w.submit(body(`"model_name":"qwen3-next"`, "a", "b", "c", "d")).RunID
	require.Eventually(t, func() bool { return *w.status(id).Progress.AgentCompleted == 2 }, waitLong, tick)

	look := func(more ...string) []byte {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1240,620", "--user-data-dir=" + t.TempDir()}, more...)
		out, err := exec.CommandContext(ctx, browser, append(args, w.url+"/")...).Output()
		require.NoError(t, err)
		return out
	}
	dom := string(look("--dump-dom"))
	require.Equal(t, 3, strings.Count(dom, `<tr id="`))
	require.Contains(t, dom, "the endpoint is down")

	name := os.Getenv("HOMING_SCREENSHOT")
	if name == "" {
		name = filepath.Join(t.TempDir(), "page.png")
	}
	look("--screenshot=" + name)
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	require.Equal(t, image.Pt(1240, 620), picture.Bounds().Size())
	for state, want := range map[string]color.RGBA{"succeeded": {0x1a, 0x7f, 0x37, 255}, "failed": {0xc0, 0x39, 0x2b, 255}, "running": {0x1f, 0x6f, 0xeb, 255}} {
		require.Greater(t, count(picture, want), 300, "the badge of a %s run is not seen", state)
	}
}

// count counts the pixels of a colour.
func count(picture image.Image, want color.RGBA) int {
	n := 0
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			if color.RGBAModel.Convert(picture.At(x, y)) == want {
				n++
			}
		}
	}
	return n
}
