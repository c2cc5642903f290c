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
