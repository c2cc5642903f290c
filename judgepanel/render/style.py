"""Style of HTML reports on screen, in dark mode and on paper, and of their figures.

Figures have the light colours of :func:`judgepanel.figures.style.standing_alone`; dark mode
replaces those of text and lines.
"""

from judgepanel.figures.style import GRID, INK, LINE, in_css

STYLE = f"""
:root {{ color-scheme: light dark; --ink: {INK}; --paper: #ffffff; --quiet: #4a5560;
  --line: #cbd2d9; --block: #f3f5f7; --mark: #4c78a8; --answer: #eef1f6; --link: #2f5d8c; }}
body {{ margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }}
main {{ max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }}
h1 {{ font-size: 1.6rem; margin: 0 0 .75rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.15rem; margin: 2.2rem 0 .5rem; padding-top: .6rem;
  border-top: 1px solid var(--line); }}
p {{ margin: .5rem 0; overflow-wrap: anywhere; }}
a {{ color: var(--link); }}
nav ol {{ columns: 16rem; padding-left: 1.6rem; font-size: 13px; }}
.answer {{ font-weight: 600; font-size: 1.1rem; border-left: 4px solid var(--mark);
  background: var(--answer); padding: .6rem .8rem; }}
.note {{ color: var(--quiet); font-size: 14px; }}
.box {{ border: 1px solid var(--line); border-radius: 3px; padding: .3rem .8rem .6rem;
  margin: .8rem 0; }}
.box.coding {{ border-left: 4px solid #f28e2b; }}
.mark {{ font-weight: 600; }}
.names {{ columns: 9rem 5; font-size: 13px; }}
.names span {{ display: block; break-inside: avoid; word-break: break-all;
  padding-left: .8em; text-indent: -.8em; }}
.names i {{ word-break: normal; }}
.sheet pre {{ font-size: 12px; }}
dl {{ display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .15rem 1rem;
  margin: .5rem 0; }}
dt {{ color: var(--quiet); }} dd {{ margin: 0; overflow-wrap: anywhere; }}
.wide {{ overflow-x: auto; margin: .6rem 0; }}
table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; color: var(--quiet); padding-bottom: .3rem; }}
th, td {{ text-align: left; vertical-align: top; padding: .25rem .7rem .25rem 0;
  border-bottom: 1px solid var(--line); white-space: nowrap; }}
td.long {{ white-space: normal; min-width: 16rem; overflow-wrap: anywhere; }}
pre {{ background: var(--block); padding: .6rem .8rem; white-space: pre-wrap;
  overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; }}
figure {{ margin: .8rem 0; }}
@media screen and (prefers-color-scheme: dark) {{
  :root {{ --ink: #e4e8ed; --paper: #0e1116; --quiet: #a8b2bd; --line: #3b4653; --block: #1a2029;
    --answer: #18222f; --link: #8dbbea; }}
  figure [style*="fill: {in_css(INK)}"] {{ fill: #e4e8ed !important; }}
  figure [style*="stroke: {in_css(GRID)}"] {{ stroke: #2b3440 !important; }}
  figure [style*="stroke: {in_css(LINE)}"] {{ stroke: #6b7787 !important; }}
}}
@media (max-width: 640px) {{ dl {{ display: block; }} dd {{ margin-bottom: .4rem; }} }}
@media print {{
  :root {{ color-scheme: light; }}
  main {{ max-width: none; padding: 0; }}
  nav {{ display: none; }}
  a {{ color: inherit; text-decoration: none; }}
  h2, h3, caption, .mark {{ break-after: avoid; }}
  figure, tr, .answer, pre, .wide {{ break-inside: avoid; }}
  .wide {{ overflow: visible; }}
  table {{ font-size: 8px; max-width: 100%; }}
  th, td, td.long {{ white-space: normal; min-width: 0; padding-right: .4rem; }}
  .sheet {{ break-after: page; font-size: 11px; line-height: 1.3; }}
  .sheet h1 {{ font-size: 17px; margin-bottom: 6px; }}
  .sheet p, .sheet dl, .sheet figure {{ margin: 5px 0; }}
  .sheet .answer {{ font-size: 13px; padding: 5px 8px; }}
  .sheet .note {{ font-size: 10px; }}
  .sheet .mark {{ margin-bottom: 1px; }}
  .sheet .names {{ columns: 5; font-size: 10px; margin-top: 0; }}
  .sheet dl {{ display: grid; gap: 0 10px; }} .sheet dd {{ margin: 0; }}
  .sheet pre {{ font-size: 9px; padding: 5px 8px; margin: 5px 0 0; }}
}}
@page {{ size: portrait; margin: 12mm; }}
"""

IN_NOTEBOOK = """
.judgepanel .answer { font-weight: 600; border-left: 4px solid #4c78a8; padding-left: .7em; }
.judgepanel .note { opacity: .8; }
.judgepanel .wide { overflow-x: auto; margin: .6em 0; }
.judgepanel .wide table { margin: 0; table-layout: auto; font-variant-numeric: tabular-nums; }
.judgepanel .wide caption { text-align: left; padding-bottom: .3em; }
.judgepanel .wide th, .judgepanel .wide td { text-align: left; white-space: nowrap; }
.judgepanel .wide td.long { white-space: normal; min-width: 16em; overflow-wrap: anywhere; }
"""
"""Style rules that a notebook lacks; colours follow its light or dark theme."""

DRAW = """
(function () {
  'use strict';
  var places = Array.from(document.querySelectorAll('[data-figure]'));
  function wrapped(title) {
    var words = title.split(' '), lines = [''];
    words.forEach(function (word) {
      var last = lines.length - 1, longer = (lines[last] + ' ' + word).trim();
      if (longer.length > 36 && lines[last]) { lines.push(word); } else { lines[last] = longer; }
    });
    return lines.join('<br>');
  }
  function download(format) {
    return {
      name: format, title: 'Download as ' + format.toUpperCase(), icon: Plotly.Icons.camera,
      click: function (plot) {
        var size = {width: plot.offsetWidth, height: plot.offsetHeight};
        var name = 'judgepanel-' + plot.dataset.figure.replace(/-data$/, '');
        Plotly.downloadImage(plot, Object.assign(size, {format: format, scale: 3, filename: name}));
      }
    };
  }
  places.forEach(function (place) {
    var made = JSON.parse(document.getElementById(place.dataset.figure).textContent);
    if (innerWidth < 640) {
      Object.keys(made.layout).forEach(function (name) {
        var title = /^xaxis/.test(name) && made.layout[name].title;
        if (title && title.text) { title.text = wrapped(title.text); }
      });
    }
    Plotly.newPlot(place, made.data, made.layout, {
      responsive: true, displaylogo: false,
      modeBarButtons: [[download('png'), download('svg')], ['zoom2d', 'pan2d', 'resetScale2d']]
    });
  });
  function all(change) {
    places.forEach(function (place) { Plotly.relayout(place, change); });
  }
  addEventListener('beforeprint', function () { all({autosize: false, width: 660}); });
  addEventListener('afterprint', function () { all({autosize: true, width: null}); });
})();
"""
