#!/bin/sh
# The simulator's page in a headless Chromium: tracks are named, there is a picture, search, zoom, hover and choosing work,
# two runs and a measured trace stand side by side, nothing is written to the console.
# usage: xsim_page.sh BUILD_DIR WORK_DIR; exit status 77 without a Chromium
set -eu
build=$1 dir=$2 source=$(cd "$(dirname "$0")/../.." && pwd)
browser=
for name in chromium chromium-browser google-chrome; do
    command -v $name >/dev/null 2>&1 && browser=$name && break
done
[ -n "$browser" ] || { echo "skipped: no Chromium to look at pages with"; exit 77; }
rm -rf "$dir" && mkdir -p "$dir" && cd "$dir"
fails=0
bad() { echo "FAILED: $*"; fails=1; }

"$build/frontend/xcc" "$source/models/digits/digits.onnx" -q --target trn1 -o digits.neff
"$build/frontend/xcc" "$source/models/digits/digits.onnx" -q --target trn2 --shape batch=1 -o other.neff
"$build/runtime/xrun" digits.neff "$source/models/digits/digit_3.npy" --profile trace.json >/dev/null
"$build/runtime/sim/xsim" digits.neff --html page.html --compare other.neff --profile trace.json >/dev/null
size=$(wc -c <page.html)
[ "$size" -lt 300000 ] || bad "a page of $size bytes for a small model"
grep -qE '(src|href)="?https?:' page.html && bad "the page loads something"
cp page.html again.html
"$build/runtime/sim/xsim" digits.neff --html page.html --compare other.neff --profile trace.json >/dev/null
cmp -s page.html again.html || bad "two pages of one program differ"

# What a user does, by the events that a browser sends; results go into the document.
cat >script.js <<'JS'
window.problems = [];
window.addEventListener('error', e => problems.push(e.message));
function check(what, ok) { if (!ok) problems.push(what); }
function key(k) { window.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true })); }
function painted() {
    const p = ink.getImageData(0, 0, canvas.width, canvas.height).data, colours = new Set();
    for (let i = 0; i < p.length; i += 4) colours.add(p[i] << 16 | p[i + 1] << 8 | p[i + 2]);
    return colours.size;
}
{
    paint();
    const tracks = [...document.querySelectorAll('#labels .track')].map(l => l.firstChild.textContent);
    for (const name of ['steps', 'parts', 'pe', 'act', 'dve', 'sp', 'q.sp', 'SBUF', 'PSUM', 'thread 0'])
        check('track ' + name, tracks.includes(name));
    check('two runs and a trace', document.querySelectorAll('#labels .run').length === 3);
    check('a picture', painted() > 20);
    const whole = state.to - state.from;
    canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: -400, bubbles: true, cancelable: true }));
    check('the wheel zooms', state.to - state.from < whole * 0.7);
    key('f');
    check('f fits', Math.abs(state.to - state.from - whole) < 1);
    key('w'), key('w');
    check('w zooms', state.to - state.from < whole * 0.6);
    const from = state.from;
    key('d');
    check('d pans', state.from > from);
    const box = document.getElementById('search');
    box.value = 'nc_matmul';
    box.dispatchEvent(new Event('input', { bubbles: true }));
    check('search finds', state.matches.length > 10 && /found/.test(document.getElementById('found').textContent));
    box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    const details = document.getElementById('details');
    check('the match is chosen', /nc_matmul/.test(details.textContent) && /stationary=/.test(details.textContent));
    check('it names node and kernel', /node/.test(details.textContent) && /kernel/.test(details.textContent));
    const link = details.querySelector('a[data-go]');
    check('it has a cause', link !== null);
    if (link) link.click();
    check('the cause is chosen', state.chosen && state.chosen.r !== state.matches[0].r);
    key('f');
    const row = rows.find(r => r.track.key === 'steps');
    canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: canvas.getBoundingClientRect().left + xOf(row.run.span / 2),
        clientY: canvas.getBoundingClientRect().top + row.y + 5, bubbles: true }));
    check('hovering tells', !document.getElementById('tip').hidden && document.getElementById('tip').textContent.length > 10);
    const parts = rows.find(r => r.track.key === 'parts');
    check('a part for each layer', parts.track.index.map(r => titleOf(parts.run, r)).join() ===
        '/conv1,/pool1,/conv2,/pool2,/fc,/softmax');
    check('parts fill the run', Math.abs(parts.track.busy - parts.run.span) < 1);
    box.value = 'nothing has this name';
    box.dispatchEvent(new Event('input', { bubbles: true }));
    check('search of nothing', document.getElementById('found').textContent === '0 found');
    document.body.dataset.result = problems.length ? 'bad: ' + problems.join(', ') : 'all well';
}
JS
{ sed 's|</body></html>$||' page.html; echo "<script>"; cat script.js; echo "</script></body></html>"; } >tested.html

look() { timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$dir/profile" \
    --window-size=1500,900 --virtual-time-budget=8000 --enable-logging=stderr "$@" 2>>console.log; }
look --dump-dom "file://$dir/tested.html" >dom.html || bad "the browser failed"
grep -q 'data-result="all well"' dom.html ||
    bad "$(grep -o 'data-result="[^"]*"' dom.html || echo 'the script did not end')"
look --screenshot="$dir/page.png" "file://$dir/page.html" >/dev/null || bad "no screenshot"
[ "$(wc -c <page.png)" -gt 20000 ] || bad "an empty screenshot"
if grep -i "CONSOLE" console.log >messages; then
    bad "messages on the console: $(head -3 messages)"
fi
exit $fails
