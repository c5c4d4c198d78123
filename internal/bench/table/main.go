// Table runs the benchmarks several times, one after the other in each run, and prints
// what homing costs as a ratio to the floor and to its peers, with the interval that
// benchstat's own method gives.
//
//	go run ./table -runs 10
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchmath"
)

func main() {
	runs := flag.Int("runs", 10, "how often to run each benchmark")
	pattern := flag.String("bench", "Turn|Stream|Encode|Transport|Connections|IdleSession|Load", "benchmarks to run")
	benchtime := flag.String("benchtime", "300ms", "time for each")
	flag.Parse()
	samples, err := measure(*runs, *pattern, *benchtime)
	if err == nil {
		err = print(os.Stdout, samples)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// key is a benchmark without its client.
type key struct{ bench, client, unit string }

var (
	lineForm  = regexp.MustCompile(`^Benchmark(\S+)-\d+\s+\d+\s+(.*)$`)
	clients   = []string{"homing", "qwen", "openai-go", "go-openai", "floor"}
	valueForm = regexp.MustCompile(`([\d.e+]+) (\S+)`)
)

// measure builds the test binary once and runs it again and again, so that what is
// compared ran in the same minute.
func measure(runs int, pattern, benchtime string) (map[key][]float64, error) {
	dir, err := os.MkdirTemp("", "homing-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "bench.test")
	build := exec.Command("go", "test", "-c", "-o", binary, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building the benchmarks (run this in their folder): %w", err)
	}
	samples := map[key][]float64{}
	for n := range runs {
		fmt.Fprintf(os.Stderr, "run %d of %d\n", n+1, runs)
		out, err := exec.Command(binary, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", benchtime).Output()
		if err != nil {
			return nil, fmt.Errorf("run %d: %w\n%s", n+1, err, out)
		}
		lines := bufio.NewScanner(strings.NewReader(string(out)))
		for lines.Scan() {
			if m := lineForm.FindStringSubmatch(lines.Text()); m != nil {
				add(samples, m[1], m[2])
			}
		}
	}
	if len(samples) == 0 {
		return nil, errors.New("no benchmark matches")
	}
	return samples, nil
}

func add(samples map[key][]float64, name, values string) {
	client := "homing"
	for _, c := range clients {
		if bench, ok := strings.CutSuffix(name, "/"+c); ok {
			name, client = bench, c
		}
	}
	for _, m := range valueForm.FindAllStringSubmatch(values, -1) {
		v, _ := strconv.ParseFloat(m[1], 64)
		k := key{name, client, m[2]}
		samples[k] = append(samples[k], v)
	}
}

func print(w io.Writer, samples map[key][]float64) error {
	rows := map[[2]string]bool{}
	for k := range samples {
		rows[[2]string{k.bench, k.unit}] = true
	}
	sorted := make([][2]string, 0, len(rows))
	for r := range rows {
		sorted = append(sorted, r)
	}
	slices.SortFunc(sorted, func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "benchmark\tunit\thoming\tqwen\topenai-go\tgo-openai\tfloor\thoming : floor\tqwen : homing\topenai-go : homing\tgo-openai : homing\t")
	for _, r := range sorted {
		fmt.Fprintf(t, "%s\t%s\t", r[0], r[1])
		of := func(client string) []float64 { return samples[key{r[0], client, r[1]}] }
		for _, c := range clients {
			fmt.Fprintf(t, "%s\t", median(of(c)))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", ratio(of("homing"), of("floor")), ratio(of("qwen"), of("homing")), ratio(of("openai-go"), of("homing")), ratio(of("go-openai"), of("homing")))
	}
	return t.Flush()
}

func median(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.5g", summary(values).Center)
}

// ratio is the median of the ratios of each run, with its 95 % interval.
func ratio(values, to []float64) string {
	if len(values) == 0 || len(values) != len(to) || slices.Min(to) == 0 {
		return "–"
	}
	ratios := make([]float64, len(values))
	for i := range values {
		ratios[i] = values[i] / to[i]
	}
	s := summary(ratios)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", s.Center, s.Lo, s.Hi)
}

func summary(values []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), 0.95)
}
